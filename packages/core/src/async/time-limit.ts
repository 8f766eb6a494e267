import type { Clock } from '@nodepool/zk-protocol';
import { TimeoutError } from '../contract/errors.js';

/**
 * What the promise gives, or a rejection once the time is over: whoever ignores its signal cannot be stopped, but need
 * not be waited for.
 * @param what - e.g. `startNodeCleanup of provider "x"`
 */
export function withTimeLimit<T>(clock: Clock, limitMs: number, what: string, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(limitMs, () =>
      reject(new TimeoutError(`${what} has not ended within ${limitMs / 1_000} s`, { timeoutMs: limitMs })),
    );
    promise.then(resolve, reject).finally(cancel);
  });
}
