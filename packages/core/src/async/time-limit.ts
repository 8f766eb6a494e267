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

/**
 * Waits until all tasks have ended, or until the time is over.
 * @param tasks - by what they are, in an operator's words
 * @returns the names of those that had not ended by then
 * @throws what the first task that failed was rejected with, unless the time was over before
 */
export async function unfinishedAfter(
  limitMs: number,
  clock: Clock,
  tasks: ReadonlyMap<string, Promise<unknown>>,
): Promise<string[]> {
  const unfinished = new Set(tasks.keys());
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = clock.setTimer(limitMs, resolve);
  });
  const all = Promise.all([...tasks].map(([name, task]) => task.then(() => unfinished.delete(name))));
  all.catch(() => {}); // a failure after the time is over is of no interest any more
  try {
    await Promise.race([all, late]);
  } finally {
    cancel();
  }
  return [...unfinished];
}
