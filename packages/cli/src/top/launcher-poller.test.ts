import type { ConnectionState } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { listen, listenFor } from '../../test/program.js';
import { LauncherPoller, type PollerOptions } from './launcher-poller.js';

const OVERVIEW = {
  ...{ nodes: {}, providers: [], pools: [], errors: [], not_ready: [] },
  requests: { waiting: 0, pending: 0, shown: [] },
};
const ANSWERS = { '/api/v1/overview': OVERVIEW, '/api/v1/nodes?state=building': [] };

/** A poller on a virtual clock. */
function start(options: Partial<PollerOptions> & Pick<PollerOptions, 'findUrls'>) {
  const time = { ms: 1_000_000 };
  const clock = { now: () => time.ms, setTimer: () => () => {} };
  const poller = new LauncherPoller({ clock, ...options });
  return { poll: () => poller.poll(), advance: (ms: number) => (time.ms += ms) };
}

it.each([
  ['no /api/v1/overview', 404, '', 'it has no /api/v1/overview: an older launcher, or another service'],
  ['an error', 500, '', 'it answered with status 500'],
  ['another answer', 200, '{}', 'it has no overview: an older launcher, or another service'],
])('says why a launcher with %s is not shown', async (_what, status, body, why) => {
  const url = await listen((_, response) => response.writeHead(status).end(body));

  const { launchers } = await start({ findUrls: () => Promise.resolve([url]) }).poll();

  expect(launchers).toMatchObject([{ overview: undefined, lost: { why } }]);
});

it('keeps the last data of a stopped launcher and the time since it is silent', async () => {
  let isRunning = true;
  const url = await listen((request, response) => {
    if (!isRunning) return void request.socket.destroy();
    response.end(JSON.stringify(ANSWERS[request.url as keyof typeof ANSWERS]));
  });
  const { poll, advance } = start({ findUrls: () => Promise.resolve([url]) });
  await poll();
  isRunning = false;
  advance(2_000);
  await poll();
  advance(2_000);

  expect((await poll()).launchers).toMatchObject([{ overview: OVERVIEW, lost: { sinceMs: 1_002_000 } }]);
});

it('reads the registry every ten seconds, and drops a launcher that has left and is silent', async () => {
  const url = await listenFor(ANSWERS);
  let found = [url, 'http://127.0.0.1:1'];
  let reads = 0;
  const { poll, advance } = start({ findUrls: () => Promise.resolve((reads++, found)) });
  await poll();
  found = [];
  advance(9_999);
  expect((await poll()).launchers).toHaveLength(2);
  advance(1);

  expect((await poll()).launchers.map((each) => each.url)).toEqual([url]);
  expect(reads).toBe(2);
});

it('shows how long ZooKeeper has been unavailable, and polls the known launchers', async () => {
  const url = await listenFor(ANSWERS);
  const zk: { state: ConnectionState } = { state: 'CONNECTED' };
  const { poll, advance } = start({ zk, findUrls: () => Promise.resolve([url]) });
  await poll();
  zk.state = 'SUSPENDED';
  await poll();
  advance(4_000);

  expect(await poll()).toMatchObject({
    zooKeeperTrouble: 'no connection for 4.0 s; asking the launchers known before',
    launchers: [{ url, lost: undefined }],
  });
});

it('reports why the registry cannot be read', async () => {
  const { poll } = start({ findUrls: () => Promise.reject(new Error('not allowed')) });

  expect(await poll()).toMatchObject({ zooKeeperTrouble: 'not allowed', launchers: [] });
});
