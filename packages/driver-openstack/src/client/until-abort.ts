/** Waits for a shared promise; on abort rejects without affecting other waiters. */
export function untilAbort<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const leave = () => signal.removeEventListener('abort', onAbort);
    shared.then(
      (value) => {
        leave();
        resolve(value);
      },
      (error: Error) => {
        leave();
        reject(error);
      },
    );
  });
}
