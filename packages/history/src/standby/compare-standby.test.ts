import { describe, expect, it } from 'vitest';
import { compareStandby } from './compare-standby.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BOOT_MS = 2 * MINUTE_MS;
const DAYS = 29;

/** Three requests at once at half past each hour from 9 to 17, on each day. */
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
  const { auto, constant, clairvoyant } = compareStandby(sceneOf(), { targetWaitMs: 5_000, atMost: 20 }, 0);

  it('finds the smallest constant that meets the target', () => {
    expect(constant).toMatchObject({ nodes: 3, p95Ms: 0, requests: 8 });
    expect(constant.idleHours).toBeCloseTo(3 * (24 - (8 * 2) / 60));
  });

  it('keeps nodes only around the times of demand with the forecast', () => {
    expect(auto).toMatchObject({ p95Ms: 0, nodes: undefined });
    expect(auto.idleHours).toBeLessThan(0.5 * constant.idleHours);
  });

  it('lets the clairvoyant launch just in time', () => {
    expect(clairvoyant).toMatchObject({ p95Ms: 0, idleHours: 0 });
  });

  it('finds the largest constant within a budget', () => {
    const budget = (idleBudget: number) => compareStandby(sceneOf(), { idleBudget, atMost: 20 }, 0).constant.nodes;

    expect([10, 30, 60, 10_000].map(budget)).toEqual([0, 1, 2, 20]);
  });

  it('takes min-ready until there is enough on record', () => {
    const scene = { ...sceneOf(), before: [], knownSinceMs: (DAYS - 1) * DAY_MS };

    expect(compareStandby(scene, { targetWaitMs: 5_000, atMost: 20 }, 3).auto).toMatchObject({ p99Ms: 0 });
    expect(compareStandby(scene, { targetWaitMs: 5_000, atMost: 20 }, 0).auto).toMatchObject({
      p50Ms: BOOT_MS,
      idleHours: 0,
    });
  });
});
