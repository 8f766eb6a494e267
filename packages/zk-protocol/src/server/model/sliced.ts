/** Work that may be interrupted where it yields. Nothing else may use the model before it is complete. */
export type Sliced<T> = Generator<undefined, T>;

/** Completes the work at once. */
export function finish<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
