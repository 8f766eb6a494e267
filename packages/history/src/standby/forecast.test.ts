import { describe, expect, it } from 'vitest';
import { LabelDemand, SLOT_MS } from './demand.js';
import { chooseLevel, choosePrice, expectDemand, levelAt } from './forecast.js';

const DAY = 96;
const WEEK = 7 * DAY;
const NOW = 5 * WEEK;
const BOOT_MS = 120_000;

/** Requests an hour are four times those of a slot. */
function pastOf(needs: (slot: number) => readonly number[], knownFrom = 0) {
  const demand = new LabelDemand();
  for (let slot = knownFrom; slot < NOW; slot++) demand.restore(slot, needs(slot));
  return { demand, isKnown: (slot: number) => slot >= knownFrom && slot < NOW, bootMs: BOOT_MS };
}

const isSameTime = (slot: number) => Math.abs((((slot - NOW) % WEEK) + WEEK) % WEEK) <= 1;

describe('expected demand', () => {
  it('is that of the same time in earlier weeks, and of the last hour', () => {
    const { perHour, windows } = expectDemand(
      pastOf((slot) => (isSameTime(slot) ? [10] : [])),
      NOW,
      NOW,
    );

    expect(windows).toBe(5);
    expect(perHour).toHaveLength(1);
    expect(perHour[0]).toBeCloseTo((4 * (10 * 4 * 2)) / 3 / 5); // two of the three slots of a window are busy
  });

  it('is also that of earlier days while there are no two weeks on record', () => {
    const { windows } = expectDemand(
      pastOf(() => [1], NOW - 3 * DAY),
      NOW,
      NOW,
    );

    expect(windows).toBe(3 + 1);
  });

  it('says for how long a node is being replaced', () => {
    const { away } = expectDemand(
      pastOf(() => [3, 1]),
      NOW,
      NOW,
    );

    expect(away.map((share) => Number(share.toFixed(3)))).toEqual(
      [(16 * 120) / 3600, (4 * 120) / 3600].map((share) => Number(share.toFixed(3))),
    );
  });

  it('is nothing where nothing is on record', () => {
    expect(
      expectDemand(
        pastOf(() => [], NOW),
        NOW,
        NOW,
      ),
    ).toEqual({ perHour: [], away: [], windows: 0 });
  });
});

describe('the newsvendor rule', () => {
  const expected = { perHour: [8, 4, 2, 1], away: [0.5, 0.25, 0.1, 0], windows: 5 };

  it.each([
    [0, 0],
    [0.1, 1],
    [0.3, 2],
    [0.5, 3],
    [2, 4],
  ])('keeps more nodes the more a wait costs: at %f, %i', (price, nodes) => {
    expect(chooseLevel(expected, price, 10)).toBe(nodes);
  });

  it('keeps at most what it may', () => {
    expect(chooseLevel(expected, 2, 3)).toBe(3);
  });

  it('keeps a whole batch or nothing', () => {
    const batch = { perHour: [0, 0, 0, 1], away: [0, 0, 0, 0], windows: 5 };

    expect([chooseLevel(batch, 3.9, 10), chooseLevel(batch, 4.1, 10)]).toEqual([0, 4]);
  });
});

describe('the price of a wait', () => {
  const steady = pastOf(() => [8, 4, 2, 1]);

  it('is as high as the target needs', () => {
    const price = choosePrice(steady, { targetWaitMs: 5_000, atMost: 10 }, NOW);

    expect(levelAt(steady, NOW * SLOT_MS, price, 10).nodes).toBe(4); // 14 of 15 would be too few
  });

  it('is the highest within the budget, and nothing without one', () => {
    const nodesFor = (idleBudget: number) =>
      levelAt(steady, NOW * SLOT_MS, choosePrice(steady, { idleBudget, atMost: 10 }, NOW), 10).nodes;

    expect([0, 10, 20, 1000].map(nodesFor)).toEqual([0, 2, 3, 4]);
  });

  it('does not rise without limit for a target that cannot be met', () => {
    expect(choosePrice(steady, { targetWaitMs: 5_000, atMost: 2 }, NOW)).toBeLessThan(1_000);
  });
});

describe('the level', () => {
  it('is that of the next slot where a node launched now is ready in it', () => {
    const past = pastOf((slot) => (slot % WEEK === 2 ? [20] : []));
    const justBefore = (NOW + 1) * SLOT_MS - 60_000;

    expect(levelAt({ ...past, isKnown: () => true }, justBefore, 2, 10)).toMatchObject({ nodes: 1, slot: NOW + 1 });
  });
});
