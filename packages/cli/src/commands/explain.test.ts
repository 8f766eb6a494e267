import { encodeLease, leasePath, LEASES_ROOT, newLease, withLease, type LeaseRecord } from '@nodepool/zk-protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { nodepool, listen, listenFor } from '../../test/program.js';
import { condition, RACK_ID, TWO_HOSTS, useWorld } from '../../test/world.js';

const get = useWorld();

beforeAll(() => get().write('rack.yaml', TWO_HOSTS));

describe('nodepool explain', () => {
  it('computes why a request waits when no launcher answers, and says so', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode({ state: 'in-use' });
    await get().createRequest(['small']);
    const id = await get().createRequest(['small']);

    const { status, stdout, stderr } = await get().nodepool('rack.yaml', 'explain', id);

    expect(status).toBe(0);
    expect(stderr).toContain('No launcher answered');
    expect(stdout.split('\n')[0]).toBe(
      `Request ${id} waits for pool "rack/main": behind another request; the first that wants the same waits: 1 of "small" needed, 0 free after requests ahead`,
    );
  });

  it('explains how labels without a request would be served', async () => {
    await get().registerRack(['small', 'big']);
    await get().createNode();

    const one = JSON.parse(
      (await get().nodepool('rack.yaml', 'explain', '--label', 'small', '--json')).stdout,
    ) as object;
    const two = await get().nodepool('rack.yaml', 'explain', '--label', 'small', '--label', 'small');

    expect(one).toMatchObject({ source: 'offline', request: null, pools: [{ action: 'accept', provider: 'rack' }] });
    expect(two.stdout).toContain('would fail: no pool can serve it (it would exceed quota: 2 of "small" asked for');
  });

  it('names configured pools that no launcher serves', async () => {
    const id = await get().createRequest(['small']);

    const { stdout } = await get().nodepool('rack.yaml', 'explain', id);

    expect(stdout).toContain('it is configured, but no launcher has registered it');
  });

  it('merges the explanations of the named launchers for their own pools', async () => {
    const pool = { provider: 'rack', pool: 'main', launcher: RACK_ID, rule: 'label-quota', text: 'none is free' };
    const body = {
      request: '200-1',
      state: 'requested',
      labels: ['small'],
      pools: [{ ...pool, own: true, action: 'wait' }],
    };
    const own = await listen((_, response) => response.end(JSON.stringify(body)));

    const { status, stdout } = await nodepool('explain', '200-1', '--url', own, '--url', 'http://127.0.0.1:1');

    expect(status).toBe(0);
    expect(stdout).toContain('Request 200-1 waits for pool "rack/main": none is free');
  });

  it('reports a request no launcher knows, with status 1 when strict', async () => {
    const url = await listenFor({});

    const lenient = await nodepool('explain', '200-9', '--url', url);
    const strict = await nodepool('explain', '200-9', '--url', url, '--strict');

    expect(lenient).toMatchObject({ status: 0, stdout: 'Request id 200-9 not found\n' });
    expect(strict.status).toBe(1);
  });

  it('says what to type for the id of a node', async () => {
    const { status, stderr } = await nodepool('explain', '0000000032', '--url', await listenFor({}));

    expect(status).toBe(1);
    expect(stderr).toContain('is the id of a node');
    expect(stderr).toContain('nodepool timeline 0000000032');
  });

  it('reports that a launcher is too old to explain', async () => {
    const url = await listen((_, response) => response.writeHead(404).end('Not found'));

    const { status, stderr } = await nodepool('explain', '200-9', '--url', url);

    expect(status).toBe(1);
    expect(stderr).toContain('it has no /explain: an older launcher, or another service');
  });

  it.each([[['explain']], [['explain', '200-1', '--label', 'a']], [['explain', '200-1', '--url', 'nl01']]])(
    'does not understand %j',
    async (argv) => {
      expect((await nodepool(...argv)).status).toBe(2);
    },
  );
});

it('shows only conditions of the labels and providers of a request', async () => {
  await get().registerRack(['small']);
  await get().register('launcher', {
    conditions: [
      condition('LaunchesFail', 'rack', 'three launches failed'),
      condition('LaunchesFail', 'other', 'four launches failed'),
      condition('NotServed', 'small', 'no pool can serve it now'),
    ],
  });

  const { stdout } = await get().nodepool('rack.yaml', 'explain', '--label', 'small');

  expect(stdout).toContain('\nWhat is wrong\n');
  expect(stdout).toContain('  error: provider "rack": three launches failed\n    repair it\n');
  expect(stdout).toContain('  error: label "small": no pool can serve it now\n');
  expect(stdout).not.toContain('four launches');
});

it('says that a server does not know a request, with status 1 when strict', async () => {
  const url = await listen((_, response) =>
    response.writeHead(404).end(JSON.stringify({ error: 'unknown-request', text: 'There is no request "200-9"' })),
  );

  expect(await nodepool('explain', '200-9', '--server', url)).toMatchObject({
    ...{ status: 0, stdout: 'Request id 200-9 not found\n' },
  });
  expect((await nodepool('explain', '200-9', '--server', url, '--strict')).status).toBe(1);
});

it.each(['--url', '--server'])('shows the history of a deleted request of %s', async (option) => {
  const past = {
    ...{
      id: '200-1',
      kind: 'request',
      labels: ['small'],
      nodes: [],
      request: null,
      requestor: 'zuul',
      tenant_name: null,
    },
    ...{ created_time: 1_600_000_000, ended_time: 1_600_000_100, state: 'fulfilled', events: [], silent: [] },
    intervals: [{ begin_time: 1_600_000_000, end_time: 1_600_000_100, cause: 'pool-full', text: 'it is full' }],
  };
  const url = await listenFor({ '/api/v1/requests/200-1/timeline': past });

  const { status, stdout } = await nodepool('explain', '200-1', option, url);

  expect(status).toBe(0);
  expect(stdout).toContain('Request 200-1: fulfilled after 1 min 40 s');
  expect(stdout).toContain('pool-full');
});

describe('nodepool explain of a lease, for operators', () => {
  const ID = '0123456789abcdef0123456789abcdef';
  const NOW_MS = Date.UTC(2026, 0, 2);
  const fields = { id: ID, owner: 'alice', token: 'ci', labels: ['small'], ttlMs: 1_000, digest: '', keeper: 'nl01' };
  const waiting = newLease(fields, NOW_MS);

  async function explainLease(lease: LeaseRecord): Promise<string> {
    await get().zk.ensurePath(LEASES_ROOT);
    await get().zk.create(leasePath(ID), encodeLease(lease));
    const { status, stdout } = await get().nodepool('rack.yaml', 'explain', ID);
    await get().zk.delete(leasePath(ID));
    expect(status).toBe(0);
    return stdout;
  }

  it('explains the request of one that waits', async () => {
    await get().registerRack(['small']);
    await get().createNode({ state: 'in-use' });
    const id = await get().createRequest(['small'], { requestorData: { lease: ID } });

    expect(await explainLease(waiting)).toMatch(new RegExp(`^Request ${id} waits for pool "rack/main": `));
  });

  it('says the state of the others, and why one is over', async () => {
    const active = { state: 'active', nodeIds: ['0000000007' as never], dueTimeMs: NOW_MS + 1_000 } as const;
    const ended = { state: 'ended', endReason: 'returned by alice' } as const;
    const failed = { state: 'failed', endReason: 'no pool can serve it' } as const;

    expect(await explainLease(waiting)).toBe(`Lease ${ID} of alice waits, and has no request now\n`);
    expect(await explainLease(withLease(waiting, active, NOW_MS))).toBe(
      `Lease ${ID} of alice is active until 2026-01-02T00:00:01.000Z, with the nodes 0000000007\n`,
    );
    expect(await explainLease(withLease(waiting, ended, NOW_MS))).toBe(
      `Lease ${ID} of alice ended at 2026-01-02T00:00:00.000Z: returned by alice\n`,
    );
    expect(await explainLease(withLease(waiting, failed, NOW_MS))).toBe(
      `Lease ${ID} of alice failed at 2026-01-02T00:00:00.000Z: no pool can serve it\n`,
    );
  });
});
