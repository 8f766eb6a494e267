import { expect, it } from 'vitest';
import { syntheticMonths } from './months.js';
import { compareTrace, totalsOf, withoutBest, type ComparedTrace } from './report.js';
import { traces } from './traces.js';

const idle = (compared: readonly ComparedTrace[], way: 'constant' | 'schedule' | 'auto') =>
  totalsOf(compared, way).idleHours;

it('schedules with the last hour meet the goal on all traces, at half of the idle time of the best constants or less', () => {
  const compared = traces(2).map(compareTrace);

  expect(totalsOf(compared, 'schedule').met).toBeGreaterThanOrEqual(9);
  expect(totalsOf(compared, 'auto').met).toBeGreaterThanOrEqual(8);
  for (const way of ['schedule', 'auto'] as const) {
    expect(idle(compared, way)).toBeLessThan(0.5 * idle(compared, 'constant'));
    expect(idle(withoutBest(compared), way)).toBeLessThan(0.7 * idle(withoutBest(compared), 'constant'));
  }
});

it('the months of a year are served at once with half of the idle time of the best constants', () => {
  const months = syntheticMonths(1).map(compareTrace);

  for (const way of ['schedule', 'auto'] as const) {
    expect(totalsOf(months, way).met).toBeGreaterThanOrEqual(11);
    expect(idle(months, way)).toBeLessThan(0.5 * idle(months, 'constant'));
  }
});
