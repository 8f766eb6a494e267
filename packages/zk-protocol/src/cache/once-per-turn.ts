/** A function whose calls of one turn share one run: nothing can have changed between them. */
export function oncePerTurn(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    if (!running) {
      running = run();
      queueMicrotask(() => (running = undefined));
    }
    return running;
  };
}
