import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { Refreshed } from './refreshed.js';

function open(lifeMs: number | undefined, results: (number | Error)[]) {
  const clock = new VirtualClock();
  const fetched: unknown[] = [];
  const refreshed = new Refreshed<number>({
    ...{ clock, lifeMs, retry: { firstMs: 1_000, longestMs: 8_000 }, random: () => 0 },
    fetch: () => {
      const result = results.shift() ?? new Error('no more results');
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
    onFetched: (error) => void fetched.push(error),
  });
  return { clock, fetched, refreshed };
}

it('keeps the old value while fetching fails, and retries', async () => {
  const { clock, fetched, refreshed } = open(undefined, [1, new Error('away'), 2]);
  refreshed.refresh();
  await clock.advance(1);
  refreshed.refresh();
  await clock.advance(1);

  expect([refreshed.value, refreshed.settled]).toEqual([1, true]);
  await clock.advance(10_000);
  expect(refreshed.value).toBe(2);
  expect(fetched).toEqual([undefined, new Error('away'), undefined]);
});

it('fetches an old value again only if it is used', async () => {
  const { clock, fetched, refreshed } = open(1_000, [1, 2, 3]);
  refreshed.refresh();
  await clock.advance(5_000);
  expect(fetched).toHaveLength(1);

  const stale = refreshed.value;
  await clock.advance(1);

  expect([stale, refreshed.value]).toEqual([1, 2]);
});

it('fetches nothing after a stop', async () => {
  const { clock, fetched, refreshed } = open(1_000, [1, 2]);
  refreshed.refresh(100);
  refreshed.stop();
  refreshed.refresh();
  await clock.advance(5_000);

  expect(fetched).toEqual([]);
  expect(refreshed.settled).toBe(false);
});
