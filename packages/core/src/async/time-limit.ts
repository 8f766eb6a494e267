import type { Clock } from '@nodepool/zk-protocol';
import { TimeoutError } from '../contract/errors.js';

/**
 * The result of the promise, or a rejection after the time limit. Work that ignores its signal cannot be stopped, but callers
 * need not wait for it.
 * @param what - for the message, e.g. `startNodeCleanup of provider "x"`
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
 * Waits until all tasks have ended, or until the time limit.
 * @param tasks - by name, in an operator's words
 * @returns names of unfinished tasks
 * @throws the error of the first task that failed within the limit
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
  all.catch(() => {}); // failures after the limit are ignored
  try {
    await Promise.race([all, late]);
  } finally {
    cancel();
  }
  return [...unfinished];
}
