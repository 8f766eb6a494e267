import { expect, it } from 'vitest';
import { ServedAtOnce } from './served-at-once.js';

const SLOT = 10_000;
const WEEK = 7 * 96;
const label = (goal?: number) => ({
  ...{ name: 'small', minReady: 0, maxReadyAgeMs: 0 },
  standby: { schedule: [], auto: true, followMs: 1, goal, atMost: 9, timeZone: 'UTC' },
});

function served(count: number, of: number): ServedAtOnce {
  const counts = new ServedAtOnce();
  for (let i = 0; i < of; i++) counts.add('small', SLOT, i < count);
  return counts;
}

it('tells when a week missed the goal', () => {
  const [condition, ...others] = served(84, 100).conditions([label(95)], SLOT + 1);

  expect(others).toEqual([]);
  expect(condition).toMatchObject({
    ...{ type: 'StandbyGoalMissed', kind: 'label', name: 'small', evidence: { atOnce: 84, all: 100, goal: 95 } },
    message: '84 of 100 requests of the last week were served at once, 84 of 100, and the goal is 95',
  });
});

// Ends: StandbyGoalMissed TooFew
it.each<[string, ServedAtOnce, number | undefined, number]>([
  ['the goal is met', served(95, 100), 95, SLOT],
  ['there is none', served(1, 100), undefined, SLOT],
  ['there are too few requests', served(0, 49), 95, SLOT],
  ['the week is over', served(1, 100), 95, SLOT + WEEK],
])('says nothing when %s', (_, counts, goal, now) => {
  expect(counts.conditions([label(goal)], now)).toEqual([]);
});

it('continues to count after a restart', () => {
  const counts = served(60, 60);
  counts.restore(SLOT - 1, { small: [0, 40], large: [1, 1] });

  expect(counts.in(SLOT)).toEqual({ small: [60, 60] });
  expect(counts.conditions([label(95)], SLOT)).toMatchObject([{ evidence: { atOnce: 60, all: 100 } }]);
});
