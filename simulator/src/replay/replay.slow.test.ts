import { beforeAll, describe, expect, it } from 'vitest';
import { sumUsage, totalOf } from '@nodepool/history';
import { replay, type Replay } from '@nodepool/history/replay';
import { makeConfig, makeRegistry } from '../fleets/config.js';
import { recordDay, type RecordedDay } from './recorded-day.js';

/** With this limit, about one request in five waits for a returned machine. */
const MAX_SERVERS = 16;
const HOURS = 5;
/** One slow machine moves the p95 of five busy hours by more than a tenth, so the figures are compared over a longer period. */
const LONG_HOURS = 15;

describe('a replay of a recorded period', () => {
  let day: RecordedDay;

  beforeAll(async () => {
    day = await recordDay(2, HOURS, MAX_SERVERS);
  });

  async function replayWith(
    maxServers: number,
    more: { leaveOut?: Set<string>; sinceMs?: number; drop?: string; of?: RecordedDay } = {},
  ): Promise<Replay> {
    const { of = day } = more;
    const drivers = new Map([[of.driver.name, of.driver]]);
    return replay({
      past: of.past,
      window: { sinceMs: more.sinceMs ?? of.fromMs, untilMs: of.toMs },
      configs: [await makeConfig(of.spec(maxServers, more.drop), drivers)],
      registry: makeRegistry(drivers),
      leaveOut: more.leaveOut,
    });
  }

  it('with an unchanged configuration matches the recorded waits, use and failures within 10 %', async () => {
    const long = await recordDay(2, LONG_HOURS, MAX_SERVERS);
    const { labels } = await replayWith(MAX_SERVERS, { of: long });

    expect(long.violations).toEqual([]);
    expect(labels.map(({ label }) => label)).toEqual(['medium', 'small']);
    for (const { recorded, replayed } of labels) {
      expect(replayed?.requests).toBe(recorded?.requests);
      expect(share(replayed?.p50Ms, recorded?.p50Ms)).toBeLessThan(0.1);
      expect(share(replayed?.p95Ms, recorded?.p95Ms)).toBeLessThan(0.1);
      expect(share(replayed?.peak, recorded?.peak)).toBeLessThan(0.1);
      expect(replayed?.failed).toBe(recorded?.failed);
    }
  });

  it('has a usage that equals the instance-seconds of the cloud within 1 %', () => {
    const { usage, instanceSeconds, fromMs, toMs } = day;
    const window = { sinceMs: fromMs, untilMs: toMs, exists: () => undefined };
    const { rows } = sumUsage(usage, { ...window, by: 'label', priceOf: () => undefined });

    expect(
      share(
        rows.reduce((sum, row) => sum + totalOf(row).nodeS, 0),
        instanceSeconds,
      ),
    ).toBeLessThan(0.01);
  });

  it('is deterministic', async () => {
    expect(await replayWith(MAX_SERVERS)).toEqual(await replayWith(MAX_SERVERS));
  });

  it('shows longer waits in a pool of half the size and none in a pool of twice the size', async () => {
    const [half, twice] = [await replayWith(MAX_SERVERS / 2), await replayWith(MAX_SERVERS * 2)];

    for (const { recorded, replayed } of half.labels) {
      expect(replayed?.p50Ms).toBeGreaterThan(2 * (recorded?.p50Ms ?? NaN));
      expect(replayed?.peak).toBeLessThan(recorded?.peak ?? NaN);
    }
    for (const { recorded, replayed } of twice.labels) {
      expect(replayed?.p95Ms).toBeLessThan(recorded?.p95Ms ?? NaN);
      expect(replayed?.peak).toBeGreaterThanOrEqual(recorded?.peak ?? NaN);
    }
  });

  it('is refused when a label is no longer served, unless its requests are excluded', async () => {
    const isWithout = { drop: 'medium' };
    await expect(replayWith(MAX_SERVERS, isWithout)).rejects.toThrow(
      /serves label "medium", which \d+ of the recorded/,
    );

    const { labels } = await replayWith(MAX_SERVERS, { ...isWithout, leaveOut: new Set(['medium']) });

    expect(labels.map(({ label }) => label)).toEqual(['small']);
  });

  it('is refused for a period without requests, naming the period with requests', async () => {
    const past = replayWith(MAX_SERVERS, { sinceMs: day.toMs - 1 });

    await expect(past).rejects.toThrow(/no request between .* is on record: those there are began between/);
  });
});

/** Relative difference of two values. */
function share(value = NaN, from = NaN): number {
  return Math.abs(value - from) / from;
}
