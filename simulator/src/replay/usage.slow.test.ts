import { expect, it } from 'vitest';
import { sumUsage, totalOf, USAGE_KEYS } from '@nodepool/history';
import { replayStandby } from '@nodepool/history/replay';
import { recordDay } from './recorded-day.js';

it('usage from the history of a launcher that is killed equals the instance-seconds of the cloud within 1 %', async () => {
  const day = await recordDay(3, 1, 16, { killEveryMs: 17 * 60_000, minReady: 2 });
  const window = { sinceMs: day.fromMs, untilMs: day.toMs };
  const sums = USAGE_KEYS.map((by) => {
    const { rows } = sumUsage(day.usage, { ...window, by, exists: () => undefined, priceOf: () => undefined });
    return {
      nodeS: rows.reduce((sum, row) => sum + totalOf(row).nodeS, 0),
      standbyS: rows.reduce((sum, row) => sum + row.phases.standby.nodeS, 0),
    };
  });

  expect(day.violations).toEqual([]);
  for (const { nodeS } of sums) expect(Math.abs(nodeS / day.instanceSeconds - 1)).toBeLessThan(0.01);
  const goal = { goal: 95, targetWaitMs: 5_000, atMost: 5, timeZone: 'UTC' };
  const replays = replayStandby(
    day.past,
    window,
    () => goal,
    () => undefined,
  );
  const idle = replays.reduce((sum, { recorded }) => sum + recorded.idleHours, 0);
  expect(sums[0]?.standbyS).toBeGreaterThan(0);
  expect((idle * 3_600) / (sums[0]?.standbyS ?? NaN)).toBeCloseTo(1, 1);
});
