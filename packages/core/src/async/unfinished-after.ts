import type { Clock } from '@nodepool/zk-protocol';

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
