import type { RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';
import { FirstPoolPauses, LONGEST_PAUSE_MS } from './first-pool-pauses.js';

const [A, B] = ['200-0000000001', '200-0000000002'] as [RequestId, RequestId];

function setUp() {
  const clock = new VirtualClock();
  const looked: RequestId[] = [];
  const first = new FirstPoolPauses(clock);
  const note = (id: RequestId) => first.note(id, FIRST_POOL_PAUSE_MS, (over) => looked.push(over));
  return { clock, looked, first, note };
}

it('a request is left to its first pool for the pause, and then looked at again', async () => {
  const { clock, looked, first, note } = setUp();

  note(A);
  await clock.advance(FIRST_POOL_PAUSE_MS - 1);
  const before = [first.isPausing(A), [...looked]];
  await clock.advance(1);

  expect(before).toEqual([true, []]);
  expect([first.isPausing(A), looked]).toEqual([false, [A]]);
});

it('each request has its own pause, which noting it again does not restart', async () => {
  const { clock, looked, first, note } = setUp();

  note(A);
  await clock.advance(100);
  note(B);
  note(A);
  await clock.advance(FIRST_POOL_PAUSE_MS - 100);
  const after = [...looked];
  await clock.advance(100);

  expect(after).toEqual([A]);
  expect(looked).toEqual([A, B]);
  note(A);
  expect(first.isPausing(A)).toBe(false);
});

it('a request that was forgotten has another pause', async () => {
  const { clock, looked, first, note } = setUp();
  note(A);
  await clock.advance(FIRST_POOL_PAUSE_MS);

  first.forget(A);
  note(A);
  const again = first.isPausing(A);
  first.close();
  await clock.advance(10 * FIRST_POOL_PAUSE_MS);

  expect(again).toBe(true);
  expect(looked).toEqual([A]);
  expect(clock.pendingTimers).toBe(0);
});

it('busy first pools have as long as they need by far, up to the longest pause', async () => {
  const { clock, looked, first, note } = setUp();
  const pauseAfter = async (tookMs: number) => {
    for (let i = 0; i < 100; i++) {
      note(A);
      await clock.advance(tookMs);
      first.taken(A);
    }
    looked.length = 0;
    note(B);
    const beganMs = clock.now();
    while (first.isPausing(B)) await clock.advance(10);
    first.forget(B);
    return clock.now() - beganMs;
  };

  expect(await pauseAfter(10)).toBe(FIRST_POOL_PAUSE_MS);
  expect(await pauseAfter(200)).toBeGreaterThan(700);
  expect(await pauseAfter(900)).toBe(LONGEST_PAUSE_MS);
  expect(await pauseAfter(10)).toBe(FIRST_POOL_PAUSE_MS);
  expect(await pauseAfter(60_000)).toBe(FIRST_POOL_PAUSE_MS);
});
