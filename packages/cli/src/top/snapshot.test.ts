import { expect, it } from 'vitest';
import { isOverview, join } from './snapshot.js';
import type { LauncherView, Overview } from './snapshot.js';

const API = { calls_per_minute: 0, failed_last_hour: 0 };
const POOL = {
  ...{ provider: 'cloud', pool: 'main', hostname: 'nl01', paused: false, own: false, handling: null, waiting: null },
  ...{ max_servers: null, used: null, provider_used: null, provider_limits: null },
};

function view(overview: Partial<Overview>, lost?: LauncherView['lost']): LauncherView {
  const requests = { waiting: 0, pending: 0, shown: [] };
  const whole = { hostname: 'nl01', status: 'ok', not_ready: [], nodes: {}, providers: [], pools: [], errors: [] };
  return { url: 'http://nl01:8005', overview: { ...whole, requests, ...overview }, launches: [], lost };
}

const joined = (...launchers: LauncherView[]) => join({ nowMs: 0, launchers, zooKeeperTrouble: undefined });

it('takes each pool from its own launcher, and each provider from one that has it', () => {
  const provider = { name: 'cloud', state: 'ok', error: null, nodes: {}, local: false, api: API };
  const other = view({ pools: [POOL], providers: [provider] });
  const own = view({ pools: [{ ...POOL, own: true, handling: 3 }], providers: [{ ...provider, local: true }] });

  const { pools, providers } = joined(other, own);

  expect(pools).toMatchObject([{ own: true, handling: 3 }]);
  expect(providers).toMatchObject([{ local: true }]);
});

it('takes the reason of a request from the launcher that decides', () => {
  const shown = (why: string) => [{ id: '200-1', state: 'requested', labels: [], created_time: 0, why }];
  const left = view({ requests: { waiting: 1, pending: 0, shown: shown('is left to a pool of another launcher') } });
  const decides = view({ requests: { waiting: 1, pending: 0, shown: shown('it is full') } });

  expect(joined(left, decides).requests.map(({ why }) => why)).toEqual(['it is full']);
});

it('shows what launchers said before only when none answers', () => {
  const lost = { sinceMs: 0, why: 'ECONNREFUSED' };
  const before = view({ nodes: { ready: 1 } }, lost);

  expect(joined(before, view({ nodes: { ready: 2 } })).nodes).toEqual({ ready: 2 });
  expect(joined(before).nodes).toEqual({ ready: 1 });
  expect(joined({ ...before, overview: undefined }).nodes).toEqual({});
});

it('shows an error once, also when each launcher has it', () => {
  const errors = [{ time: 1, node: '7', text: 'no host key' }];

  expect(joined(view({ errors }), view({ errors: [...errors, { time: 2, text: 'no route' }] })).errors).toHaveLength(2);
});

it.each([[null], ['<html>'], [[]], [{}], [{ providers: [], pools: [], errors: [], nodes: {} }]])(
  'takes %j for no overview',
  (value) => {
    expect(isOverview(value)).toBe(false);
  },
);
