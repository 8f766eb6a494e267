import { describe, expect, it } from 'vitest';
import { QuotaError } from '../../contract/errors.js';
import { DEFAULT_HEALTH_LIMITS, Health } from './health.js';

const { failuresToOpen, firstPauseMs, longestPauseMs } = DEFAULT_HEALTH_LIMITS;

function failing(nowMs = 0): Health {
  const health = new Health();
  for (let i = 0; i < failuresToOpen; i++) health.failed('timed out', nowMs);
  return health;
}

describe('health', () => {
  it('stays healthy when failures are not in a row', () => {
    const health = new Health();

    for (let i = 0; i < 20; i++) {
      for (let j = 1; j < failuresToOpen; j++) health.failed('timed out', 0);
      health.succeeded();
    }

    expect(health.report(0)).toMatchObject({ state: 'healthy', failures: 0, error: undefined, failedMs: undefined });
  });

  it('fails at the last of so many failures in a row, and says when it is tried again', () => {
    const health = new Health();

    const changes = Array.from({ length: failuresToOpen }, () => health.failed('timed out', 1_000));

    expect(changes).toEqual([...Array.from({ length: failuresToOpen - 1 }, () => false), true]);
    expect(health.mayLaunch(1_000 + firstPauseMs - 1)).toBe(false);
    expect(health.report(1_000)).toEqual({
      ...{
        state: 'failing',
        failures: failuresToOpen,
        error: 'timed out',
        reason: 'Error',
        failedMs: 1_000,
        sinceMs: 1_000,
      },
      nextProbeMs: 1_000 + firstPauseMs,
    });
  });

  it('forgets its last error with a success, and tells the class of the next one', () => {
    const health = failing();

    health.succeeded();
    const after = health.report(0);
    health.failed(new QuotaError('full'), 5_000);

    expect(after).toMatchObject({ error: undefined, failedMs: undefined, sinceMs: undefined });
    expect(health.report(5_000)).toMatchObject({ state: 'healthy', error: 'full', reason: 'Quota', failedMs: 5_000 });
  });

  it('is probed by one launch at a time', () => {
    const health = failing();

    const before = health.mayLaunch(firstPauseMs);
    health.launchBegun({});

    expect([before, health.mayLaunch(firstPauseMs)]).toEqual([true, false]);
    expect(health.report(firstPauseMs)).toMatchObject({ state: 'probing', nextProbeMs: undefined });
  });

  it('is probed at growing pauses, never longer than the longest', () => {
    const health = failing();
    const pauses: number[] = [];
    let now = firstPauseMs;

    for (let i = 0; i < 8; i++) {
      health.launchBegun({});
      health.failed('timed out', now);
      const next = health.report(now).nextProbeMs ?? now;
      pauses.push(next - now);
      now = next;
    }

    expect(pauses.slice(0, 3)).toEqual([2 * firstPauseMs, 4 * firstPauseMs, 8 * firstPauseMs]);
    expect(Math.max(...pauses)).toBe(longestPauseMs);
  });

  it('is not put off by launches that were begun before it failed', () => {
    const health = failing();

    health.failed('timed out', firstPauseMs - 1);

    expect(health.mayLaunch(firstPauseMs)).toBe(true);
  });

  it('is healthy after any successful launch, and starts again with the first pause', () => {
    const health = failing();
    health.launchBegun({});
    health.failed('timed out', firstPauseMs);

    const changed = health.succeeded();
    for (let i = 0; i < failuresToOpen; i++) health.failed('timed out', 0);

    expect(changed).toBe(true);
    expect(health.report(0).nextProbeMs).toBe(firstPauseMs);
  });

  it('lets another launch be the probe when one ends without a result', () => {
    const health = failing();
    const probe = {};
    health.launchBegun(probe);

    health.launchEnded(probe);

    expect(health.mayLaunch(firstPauseMs)).toBe(true);
  });

  it('has one probe, whatever other launches begin and end meanwhile', () => {
    const health = failing();
    const [probe, other] = [{}, {}];
    health.launchBegun(probe);

    health.launchBegun(other);
    health.launchEnded(other);

    expect(health.mayLaunch(firstPauseMs)).toBe(false);
    expect([other, probe].map((launch) => health.overdue(launch, firstPauseMs))).toEqual([false, true]);
  });
});
