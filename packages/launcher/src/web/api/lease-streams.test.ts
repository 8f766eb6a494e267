import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import {
  createLeaseCache,
  createLeaseTokenCache,
  newLease,
  newLeaseToken,
  type LeaseRecord,
} from '@nodepool/zk-protocol';
import type { Leases } from '@nodepool/core/launcher';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { LeaseStreams } from './lease-streams.js';
import { silentLogger } from '@nodepool/core';

const HEARTBEAT_MS = 15_000;
const MOST = { all: 5, ofToken: 3, ofLease: 2 };

let clock: VirtualClock;
let knowledge: Leases['knowledge'];
let apiTokens: { name: string; token: string }[];
let distrust: string | undefined;
let streams: LeaseStreams;
let server: Server;
let opened = 0;

const lease: LeaseRecord = newLease(
  { id: 'l1', owner: 'alice', token: 'alice', labels: ['a'], ttlMs: 60_000, digest: '', keeper: '' },
  0,
);

const alice = newLeaseToken(
  {
    ...{ name: 'alice', hash: '', owner: 'alice', labels: [], maxTtlMs: 1, maxNodes: null, tenantName: null },
    ...{ highestPriority: 200, admin: false, endTimeMs: null },
  },
  0,
);

/** Opens a stream. @param path - name of the token, `/admin/NAME` for one of the configuration; `?ID`: of this lease */
async function open(path: string): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo;
  const [response] = (await once(get({ port, path, agent: false }), 'response')) as [IncomingMessage];
  return response;
}

const statusOf = async (path: string) => (await open(path)).statusCode;

beforeEach(async () => {
  clock = new VirtualClock();
  knowledge = 'current';
  apiTokens = [{ name: 'root', token: 'secret' }];
  const common = { zk: connectInMemory(new MemoryServer(clock), { clock }).zk, clock, logger: silentLogger };
  const [leases, tokens] = [createLeaseCache(common), createLeaseTokenCache(common)];
  const known = { get: (name: string) => (name === alice.name ? alice : undefined) };
  const all = {
    tokens: { ...known, onChange: tokens.onChange.bind(tokens) },
    onChange: leases.onChange.bind(leases),
    get knowledge() {
      return knowledge;
    },
  };
  distrust = undefined;
  const sources = { leases: all, config: () => ({ apiTokens }), trust: { distrusts: () => distrust } };
  streams = new LeaseStreams(clock, sources, MOST);
  server = createServer(({ url = '' }, response) => {
    const [path = '', id = `l${++opened}`] = url.split('?');
    const [, first = '', name = first] = path.split('/');
    const isOpen = streams.open({ ...lease, id }, { name, isOperator: first === 'admin' }, response, () =>
      Promise.resolve({ id: 'l1' }),
    );
    if (!isOpen) response.writeHead(503).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

describe('event streams', () => {
  it('are limited for each token, and for all tokens together', async () => {
    const first = await open('/alice');
    expect([await statusOf('/alice'), await statusOf('/alice'), await statusOf('/alice')]).toEqual([200, 200, 503]);
    expect([await statusOf('/bob'), await statusOf('/admin/root'), await statusOf('/carol')]).toEqual([200, 200, 503]);

    first.destroy();
    while (streams.size === MOST.all) await new Promise((resolve) => setImmediate(resolve));

    expect([await statusOf('/alice'), await statusOf('/alice')]).toEqual([200, 503]);
  });

  it('are limited for each lease, as each of its changes is written to all of them', async () => {
    const first = await open('/alice?same');
    expect([await statusOf('/bob?same'), await statusOf('/carol?same')]).toEqual([200, 503]);
    expect(await statusOf('/carol?other')).toBe(200);

    first.destroy();
    while (streams.size > MOST.ofLease) await new Promise((resolve) => setImmediate(resolve));

    expect(await statusOf('/carol?same')).toBe(200);
  });

  it('end when a reload changes the key that has signed the token', async () => {
    const ofAlice = await open('/alice');
    await clock.advance(HEARTBEAT_MS);
    expect(streams.size).toBe(1);

    distrust = 'not signed';
    await clock.advance(HEARTBEAT_MS);
    ofAlice.resume();
    await once(ofAlice, 'end');

    expect(ofAlice.complete).toBe(true);
  });

  it.each([
    ['removed from', []],
    ['replaced in', [{ name: 'root', token: 'another' }]],
  ])('end when their token is %s the configuration, and no others do', async (_how, tokens) => {
    const [ofRoot, ofAlice] = [await open('/admin/root'), await open('/alice')];
    await clock.advance(HEARTBEAT_MS);
    expect(streams.size).toBe(2);

    apiTokens = tokens;
    await clock.advance(HEARTBEAT_MS);
    ofRoot.resume();
    await once(ofRoot, 'end');

    expect([ofRoot.complete, ofAlice.complete]).toEqual([true, false]);
  });

  it('end when the launcher is cut off, so that their readers ask another one', async () => {
    const ofAlice = await open('/alice');
    await clock.advance(HEARTBEAT_MS);
    expect(streams.size).toBe(1);

    knowledge = 'cut-off';
    await clock.advance(HEARTBEAT_MS);
    ofAlice.resume();
    await once(ofAlice, 'end');

    expect(ofAlice.complete).toBe(true);
  });
});
