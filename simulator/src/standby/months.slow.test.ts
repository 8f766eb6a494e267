import { expect, it } from 'vitest';
import { syntheticMonths } from './months.js';
import { compareDay, GOAL, totalsOf } from './report.js';

it('standby nodes of a year are at least 40 % less idle than the best constants of its months at the same waits', () => {
  const months = syntheticMonths(1).map(compareDay);
  const { auto, constant, saved } = totalsOf(months);

  expect(saved).toBeGreaterThan(0.4);
  expect(auto.p95Ms).toBeLessThanOrEqual(constant.p95Ms);
  for (const { day, auto: own } of months) expect([day.name, own.p95Ms <= GOAL.targetWaitMs]).toEqual([day.name, true]);
});
