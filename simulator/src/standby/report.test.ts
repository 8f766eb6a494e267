import { describe, expect, it } from 'vitest';
import { syntheticDays } from './days.js';
import { compareDay, GOAL, standbyTable, totalsOf } from './report.js';

describe('standby nodes on ten days', () => {
  const days = syntheticDays(1).map(compareDay);

  it('are at least 40 % less idle than the best constant at the same p95 of waits', () => {
    const { auto, constant, saved } = totalsOf(days);

    expect(constant.p95Ms).toBeLessThanOrEqual(GOAL.targetWaitMs);
    expect(auto.p95Ms).toBeLessThanOrEqual(constant.p95Ms);
    expect(saved).toBeGreaterThan(0.4);
  });

  it('are so without the two days on which the constant does worst', () => {
    const usual = days.filter(({ day }) => day.name !== 'nightly batch' && day.name !== 'cloud outage');

    const { auto, saved } = totalsOf(usual);

    expect(auto.p95Ms).toBeLessThanOrEqual(GOAL.targetWaitMs);
    expect(saved).toBeGreaterThan(0.4);
  });

  it('are idle no longer than the best constant on each day, and longer than for a clairvoyant', () => {
    for (const { day, auto, constant, clairvoyant } of days) {
      expect([day.name, auto.idleHours < 1.1 * constant.idleHours]).toEqual([day.name, true]);
      expect([day.name, auto.idleHours > clairvoyant.idleHours]).toEqual([day.name, true]);
    }
  });

  it('have a line each in the table', () => {
    expect(standbyTable(days).split('\n')).toHaveLength(2 + days.length + 1);
  });
});
