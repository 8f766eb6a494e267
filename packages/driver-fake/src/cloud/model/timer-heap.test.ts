import { expect, it } from 'vitest';
import { TimerHeap } from './timer-heap.js';
import { Random } from '@nodepool/core/testing';
import { VirtualClock } from '../../../test/virtual-clock.js';

it('fires in the order of time, and of adding where that is equal', async () => {
  const clock = new VirtualClock();
  const random = new Random(3).next;
  const fired: { atMs: number; order: number }[] = [];
  const heap = new TimerHeap<{ atMs: number; order: number }>(clock, (item) => fired.push(item));
  const items = Array.from({ length: 2_000 }, (_, order) => ({
    atMs: clock.now() + Math.floor(random() * 200),
    order,
  }));

  for (const item of items) heap.add(item.atMs, item);
  await clock.advance(1_000);

  expect(fired).toEqual([...items].sort((a, b) => a.atMs - b.atMs || a.order - b.order));
  expect(clock.pendingTimers).toBe(0);
});

it('takes new times while it fires', async () => {
  const clock = new VirtualClock();
  const fired: number[] = [];
  const heap = new TimerHeap<number>(clock, (item) => {
    fired.push(item);
    if (item < 3) heap.add(clock.now() + 10, item + 1);
  });

  heap.add(clock.now() + 10, 1);
  await clock.advance(100);

  expect(fired).toEqual([1, 2, 3]);
});

it('fires nothing after it was cleared', async () => {
  const clock = new VirtualClock();
  const fired: number[] = [];
  const heap = new TimerHeap<number>(clock, (item) => fired.push(item));

  heap.add(clock.now() + 10, 1);
  heap.clear();
  await clock.advance(100);
  heap.add(clock.now() + 10, 2);
  await clock.advance(100);

  expect(fired).toEqual([2]);
});
