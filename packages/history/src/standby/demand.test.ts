import { expect, it } from 'vitest';
import { LabelDemand, SLOT_MS, slotOf } from './demand.js';

const BOOT_MS = 120_000;

it('counts a request by the nodes asked for within one boot', () => {
  const demand = new LabelDemand();

  for (const atMs of [0, 60_000, 150_000, 600_000]) demand.add({ atMs, nodes: 1 }, BOOT_MS);
  demand.add({ atMs: SLOT_MS, nodes: 3 }, BOOT_MS);

  expect(demand.needsOf(0)).toEqual([2, 2]); // the third finds the first replaced
  expect(demand.needsOf(1)).toEqual([0, 0, 1]);
  expect(demand.requestsIn(0, 2)).toBe(5);
});

it('tells the largest need and the number of requests of some slots', () => {
  const demand = new LabelDemand();
  for (const [slot, nodes] of [
    [3, 2],
    [4, 5],
    [6, 1],
  ] as const)
    demand.add({ atMs: slot * SLOT_MS, nodes }, BOOT_MS);

  expect([demand.largestNeed(3, 4), demand.largestNeed(5, 6), demand.largestNeed(7, 9)]).toEqual([5, 1, 0]);
  expect([demand.requestsIn(3, 6), demand.requestsIn(3, 7)]).toEqual([2, 3]);
});

it('adds requests that were counted before', () => {
  const demand = new LabelDemand();
  demand.add({ atMs: 0, nodes: 1 }, BOOT_MS);

  demand.restore(0, [1, 0, 2]);

  expect(demand.needsOf(0)).toEqual([2, 0, 2]);
});

it('forgets the slots that were counted first, and not those that a clock which is ahead takes for old', () => {
  const demand = new LabelDemand();
  for (const slot of [1, 2, 9_000, 3]) demand.add({ atMs: slot * SLOT_MS, nodes: 1 }, BOOT_MS);

  demand.prune(3);

  expect([1, 2, 9_000, 3].map((slot) => demand.needsOf(slot))).toEqual([[], [1], [1], [1]]);
});

it('tells the first slot with a request', () => {
  const demand = new LabelDemand();
  for (const slot of [7, 3, 5]) demand.restore(slot, [1]);

  expect([1, 4, 8].map((from) => demand.firstSlot(from))).toEqual([3, 5, undefined]);
});

it('knows nothing of times that a clock has left by going back', () => {
  const demand = new LabelDemand();

  demand.add({ atMs: 10 * SLOT_MS, nodes: 5 }, BOOT_MS);
  demand.add({ atMs: 0, nodes: 1 }, BOOT_MS);

  expect(demand.needsOf(slotOf(0))).toEqual([1]);
});
