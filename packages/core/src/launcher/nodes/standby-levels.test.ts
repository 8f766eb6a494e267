import { expect, it } from 'vitest';
import { StandbyLevels } from './standby-levels.js';

const standby = { targetWaitMs: 5_000, idleBudget: undefined, atMost: 4 };
const label = { name: 'a', minReady: 2, maxReadyAgeMs: 0, standby };
const level = (nodes: number, isFallback = false) => new Map([['a', { nodes, reason: 'demand', isFallback }]]);

it('are the computed numbers, within the limits of the label', () => {
  const levels = new StandbyLevels();
  levels.replace(level(9));

  expect(levels.of(label)).toEqual({ nodes: 4, reason: 'demand', isFallback: false });
  expect(levels.of({ ...label, minReady: -1 }).nodes).toBe(0);
  expect(levels.of({ ...label, standby: undefined })).toEqual({ nodes: 2, reason: 'min-ready 2', isFallback: true });
});

it('are min-ready without a forecast', () => {
  const levels = new StandbyLevels();
  const before = levels.of(label);
  levels.replace(level(9, true));

  expect(before).toEqual({ nodes: 2, reason: 'min-ready 2, as there is no forecast yet', isFallback: true });
  expect(levels.of(label)).toEqual({ nodes: 2, reason: 'demand', isFallback: true });
});

it('tell when a number changes', () => {
  const levels = new StandbyLevels();

  expect([level(1), level(1), level(2), level(2, true)].map((each) => levels.replace(each))).toEqual([
    true,
    false,
    true,
    true,
  ]);
});
