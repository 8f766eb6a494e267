import { describe, expect, it } from 'vitest';
import { compareStandby } from './compare-standby.js';
import type { StandbyGoal } from './play-settings.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BOOT_MS = 2 * MINUTE_MS;
const DAYS = 29;

const GOAL: StandbyGoal = { goal: 95, targetWaitMs: 5_000, atMost: 20, timeZone: 'UTC' };

/** A request for three nodes at half past each hour from 9 to 17, on each day. */
function sceneOf() {
  const arrivals = Array.from({ length: DAYS * 24 }, (_, hour) => hour)
    .filter((hour) => hour % 24 >= 9 && hour % 24 < 17)
    .map((hour) => ({ atMs: (hour + 0.5) * HOUR_MS, nodes: 3 }));
  const sinceMs = (DAYS - 1) * DAY_MS;
  return {
    ...{ sinceMs, untilMs: sinceMs + DAY_MS, knownSinceMs: 0, bootMs: () => BOOT_MS },
    before: arrivals.filter(({ atMs }) => atMs < sinceMs),
    arrivals: arrivals.filter(({ atMs }) => atMs >= sinceMs),
    launches: [],
  };
}

describe('a comparison', () => {
  const { auto, follow, schedule, constant, clairvoyant } = compareStandby(sceneOf(), GOAL);

  it('finds the smallest constant that meets the target', () => {
    expect(constant).toMatchObject({ nodes: 3, p95Ms: 0, requests: 8 });
    expect(constant.idleHours).toBeCloseTo(3 * (24 - (8 * 2) / 60));
  });

  it.each([
    ['auto', auto],
    ['a schedule', schedule],
  ])('keeps nodes only around the times of demand with %s', (_, figures) => {
    expect(figures).toMatchObject({ atOnce: 1, nodes: undefined });
    expect(figures.idleHours).toBeLessThan(0.5 * constant.idleHours);
  });

  it('follows the last hour, but for the first request of a day', () => {
    expect(follow.atOnce).toBeCloseTo(7 / 8);
    expect(follow.unused).toBe(3);
  });

  it('lets the clairvoyant launch just in time', () => {
    expect(clairvoyant).toMatchObject({ p95Ms: 0, idleHours: 0 });
  });
});
