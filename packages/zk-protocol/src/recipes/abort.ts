/** Settles as `promise` does, or rejects with the signal's reason as soon as it fires. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    const finish = () => signal.removeEventListener('abort', onAbort);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(finish);
    if (signal.aborted) onAbort();
  });
}
