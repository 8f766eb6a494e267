import { setTimeout as delay } from 'node:timers/promises';

/** Now, by a clock that is never set. */
export const nowMs = (): number => performance.now();

/** The longest time a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** Waits; does not keep the process alive if `ref` is false. @throws the signal's reason */
export async function pause(ms: number, signal?: AbortSignal, ref = true): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= LONGEST_MS) {
    try {
      await delay(Math.min(leftMs, LONGEST_MS), undefined, { ref, ...(signal && { signal }) });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }
  signal?.throwIfAborted();
}

/** Calls a function later; does not keep the process alive. @returns cancels it */
export function after(ms: number, callback: () => void): () => void {
  const abort = new AbortController();
  void pause(ms, abort.signal, false).then(callback, () => undefined);
  return () => abort.abort();
}

/** The outcome of a promise, unless the signal aborts first. @throws the signal's reason */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  let leave = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    leave = () => signal.removeEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    leave();
  }
}
