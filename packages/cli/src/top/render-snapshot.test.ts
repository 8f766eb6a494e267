import { describe, expect, it } from 'vitest';
import { renderSnapshot } from './render-snapshot.js';
import type { LauncherView, Overview, RequestLine, Snapshot } from './snapshot.js';

const NOW_MS = 1_600_000_000_000;
const seconds = (ago: number) => NOW_MS / 1000 - ago;

function overview(changes: Partial<Overview> = {}): Overview {
  const api = { calls_per_minute: 12, failed_last_hour: 3 };
  const pool = { provider: 'cloud', pool: 'main', hostname: 'nl01', paused: true, own: true, handling: 1, waiting: 2 };
  return {
    ...{ hostname: 'nl01', status: 'ok', not_ready: [], nodes: { ready: 1, building: 2 } },
    providers: [{ name: 'cloud', state: 'failed', error: 'no route', nodes: { building: 2 }, local: true, api }],
    pools: [
      { ...pool, max_servers: 5, used: { instances: 3 }, provider_used: { cores: 6 }, provider_limits: { cores: 8 } },
    ],
    requests: { waiting: 1, pending: 0, shown: [waiting('200-1', 'waits for pool "cloud/main": it is full')] },
    conditions: [
      {
        kind: 'provider',
        name: 'cloud',
        type: 'LaunchesFail',
        severity: 'error',
        message: 'no route',
        since: seconds(90),
      },
    ],
    errors: [{ time: seconds(60), provider: 'cloud', node: '7', text: 'no host key' }],
    ...changes,
  };
}

function waiting(id: string, why: string): RequestLine {
  return { id, state: 'requested', labels: ['small'], created_time: seconds(95), why: `Request ${id} ${why}` };
}

function snapshot(views: readonly Partial<LauncherView>[], zooKeeperTrouble?: string): Snapshot {
  const launch = { id: '0000000008', provider: 'cloud', pool: 'main', labels: ['small'], state_time: seconds(5) };
  const launchers = views.map((view, index) => ({
    ...{ url: `http://nl0${index + 1}:8005`, overview: overview(), lost: undefined },
    launches: [{ ...launch, launch_error: null }],
    ...view,
  }));
  return { nowMs: NOW_MS, launchers, zooKeeperTrouble };
}

const ALL = { columns: undefined, rows: undefined };
const text = (shown: Snapshot) => renderSnapshot(shown, ALL).join('\n');

describe('a snapshot', () => {
  it('has what is wrong, pools with quota and use, requests with reasons, launches, errors, and the health of providers', () => {
    expect(text(snapshot([{}]))).toBe(`nodepool top  12:26:40 UTC  1 of 1 launchers answer
requests: 1 waiting, 0 accepted  nodes: 1 ready, 2 building
PROBLEMS
  error  for 1 min 30 s  provider cloud  no route
PROVIDERS
  cloud  failed  2 building  12 calls/min, 3 failed in the last hour  no route
POOLS
  cloud/main  nl01  3 of 5  quota 6/8 cores  1 handled, 2 waiting  waits for capacity
WAITING REQUESTS
  200-1  small  1 min 35 s  waits for pool "cloud/main": it is full
LAUNCHES IN PROGRESS
  0000000008  cloud/main  small  5.0 s
ERRORS
  1 min 0 s ago  cloud 7  no host key`);
  });

  it('takes the reason from the launcher that decides, and each thing once', () => {
    const foreign = overview({
      requests: {
        waiting: 1,
        pending: 0,
        shown: [waiting('200-1', 'is left to pool "cloud/main" of another launcher')],
      },
      pools: overview().pools.map((pool) => ({ ...pool, own: false, used: null })),
    });
    const shown = text(snapshot([{ overview: foreign }, {}]));

    expect(shown).toContain('it is full');
    expect(shown).not.toContain('another launcher');
    expect(shown.match(/cloud\/main {2}nl01 {2}3 of 5/g)).toHaveLength(1);
    expect(shown.match(/no host key/g)).toHaveLength(1);
  });

  it('shows unresponsive launchers and an unavailable ZooKeeper', () => {
    const lost = { sinceMs: NOW_MS - 12_000, why: 'ECONNREFUSED' };
    const shown = text(snapshot([{ lost }], 'no connection for 4.0 s'));

    expect(shown).toContain('0 of 1 launchers answer');
    expect(shown).toContain('! ZooKeeper: no connection for 4.0 s');
    expect(shown).toContain('! http://nl01:8005 has not answered for 12.0 s: ECONNREFUSED');
    expect(shown).toContain('below is the last known state');
    expect(text(snapshot([]))).toContain('! No launcher is registered');
  });

  it('shows no control characters of untrusted text', () => {
    const errors = [{ time: null, text: 'bad \u001b[2J thing\n!' }];

    expect(text(snapshot([{ overview: overview({ errors }) }]))).toContain('bad  [2J thing !');
  });
});

describe('a small terminal', () => {
  const many = snapshot([
    {
      overview: overview({
        requests: {
          waiting: 50,
          pending: 0,
          shown: Array.from({ length: 50 }, (_, i) => waiting(`200-${i}`, 'waits')),
        },
      }),
    },
  ]);

  it.each([
    [80, 24],
    [80, 12],
    [40, 10],
    [20, 5],
    [3, 1],
    [1, 1],
  ])('of %i columns and %i rows is never left', (columns, rows) => {
    const lines = renderSnapshot(many, { columns, rows });

    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  it('counts the lines that it leaves out', () => {
    expect(renderSnapshot(many, { columns: 80, rows: 24 }).join('\n')).toMatch(/and \d\d more/);
  });
});
