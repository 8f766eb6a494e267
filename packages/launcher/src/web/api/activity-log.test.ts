import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { NO_METRICS, node } from '../../../test/support/world.js';
import { ActivityLog } from './activity-log.js';

const MINUTE_MS = 60_000;
const OF = { provider: 'sky', az: null } as Parameters<NonNullable<ActivityLog['launchEnded']>>[2];

let clock: VirtualClock;
let log: ActivityLog;
let forwarded: unknown[];

beforeEach(() => {
  clock = new VirtualClock(1_600_000_020_000);
  forwarded = [];
  log = new ActivityLog({ ...NO_METRICS, apiCall: (...args) => void forwarded.push(args) }, clock);
});

describe('launches', () => {
  it('are summed over the last hour, with percentiles of the successful ones', async () => {
    log.launchEnded('ready', 90_000, OF);
    await clock.advance(59 * MINUTE_MS);
    for (let i = 1; i <= 20; i++) log.launchEnded('ready', i * 1_000, OF);
    log.launchEnded('timeout', 600_000, OF);

    expect(log.launches()).toMatchObject({ ready: 21, failed: 1, p50: 11, p95: 20 });
    await clock.advance(MINUTE_MS);
    expect(log.launches()).toMatchObject({ ready: 20, failed: 1 });
    await clock.advance(60 * MINUTE_MS);
    expect(log.launches()).toEqual({ ready: 0, failed: 0, p50: null, p95: null, minutes: [] });
  });

  it('are listed by minute, without minutes that had none', async () => {
    log.launchEnded('ready', 3_000, OF);
    await clock.advance(3 * MINUTE_MS);
    log.launchEnded('error', 1, OF);

    expect(log.launches()['minutes']).toEqual([
      { time: 1_599_999_960 + 60, ready: 1, failed: 0, p50: 3 },
      { time: 1_599_999_960 + 240, ready: 0, failed: 1, p50: null },
    ]);
  });

  it('are reported to listeners until these unsubscribe', () => {
    const seen: string[] = [];
    const end = log.onLaunch((result) => seen.push(result));
    log.launchEnded('ready', 1, OF);
    end();
    log.launchEnded('error', 1, OF);

    expect(seen).toEqual(['ready']);
  });
});

describe('API calls', () => {
  it('have a rate of the last five full minutes, and failures of the last hour', async () => {
    for (const outcome of ['ok', '200', '302', '500', 'ETIMEDOUT']) log.apiCall('sky', 'list', 5, outcome);
    expect(log.calls('sky')).toEqual({ calls_per_minute: 0, calls_last_hour: 5, failed_last_hour: 2 });

    await clock.advance(MINUTE_MS);
    expect(log.calls('sky')['calls_per_minute']).toBe(1);
    await clock.advance(61 * MINUTE_MS);
    expect(log.calls('sky')).toEqual({ calls_per_minute: 0, calls_last_hour: 0, failed_last_hour: 0 });
    expect(log.calls('other')['calls_last_hour']).toBe(0);
  });

  it('are forwarded to the metrics', () => {
    log.apiCall('sky', 'list', 5, 'ok', 'prefix');

    expect(forwarded).toEqual([['sky', 'list', 5, 'ok', 'prefix']]);
  });
});

describe('errors', () => {
  const failed = (id: string, launchError: string, provider = 'sky') => node(id, { launchError, provider });

  it('are new launch errors of nodes, newest first, by provider', async () => {
    log.nodeChanged(undefined, failed('1', 'no quota'));
    log.nodeChanged(failed('1', 'no quota'), failed('1', 'no quota'));
    await clock.advance(1_000);
    log.nodeChanged(node('2'), failed('2', 'no host', 'rack'));
    log.nodeChanged(failed('2', 'no host'), undefined);

    expect(log.errors()).toEqual([
      { time: 1_600_000_021, provider: 'rack', node: '2', text: 'no host' },
      { time: 1_600_000_020, provider: 'sky', node: '1', text: 'no quota' },
    ]);
    expect(log.errors('sky')).toHaveLength(1);
  });

  it('are limited in number and length', () => {
    for (let i = 0; i < 100; i++) log.nodeChanged(undefined, failed(String(i), 'x'.repeat(10_000)));

    expect(log.errors()).toHaveLength(50);
    expect(log.errors()[0]).toMatchObject({ node: '99', text: 'x'.repeat(500) });
  });
});
