/** Work that may be interrupted wherever it yields. Nothing else may use the model until it has ended. */
export type Sliced<T> = Generator<undefined, T>;

/** Does all of the work at once. */
export function finish<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
