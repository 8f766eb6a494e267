import {
  encodeRequest,
  newNode,
  newRequest,
  requestLockPath,
  REQUESTS_ROOT,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type Resources,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { configOf, servingDrivers } from '../../../test/support/serving-config.js';
import type { LaunchOrder } from '../../contract/driver.js';
import { Reaper } from '../../launcher/nodes/reaper.js';
import { NODES_PER_TRANSACTION } from '../../launcher/requests/locks.js';
import { LostRequests } from '../../launcher/requests/lost-requests.js';
import { resumedLaunches } from './index.js';
import { assignPresent, isResumable } from './take-over.js';

const begun = { state: 'building', launchState: { attempt: 1 }, launcher: 'of-the-dead', resources: { instances: 1 } };

/**
 * A launcher with pool `main` of provider `p`, beside one that has accepted a request for these labels.
 * In one piece: each function needs the rooms.
 */
async function besideAnother(
  labels: readonly string[],
  able = { resumes: true },
  maxConcurrency = -1,
  tenantLimits = new Map<string, Resources>(),
) {
  const orders: LaunchOrder[] = [];
  let finish = (): void => undefined;
  const until = new Promise<void>((resolve) => (finish = resolve));
  const config = configOf(poolConfig('main', ['a', 'b'], { maxServers: 5 }));
  const providers = new Map([...config.providers].map(([name, provider]) => [name, { ...provider, maxConcurrency }]));
  const drivers = servingDrivers({ orders, until }, {}, able);
  const rooms = await LauncherRooms.open({ ...config, providers, tenantLimits }, drivers);
  const lost = new LostRequests(rooms.world.context, rooms.ledger);
  const pools = await rooms.openPools(lost);
  const [pool] = pools.configured;
  if (!pool) throw new Error('there is no pool');
  const { other, clock } = rooms.world;
  const body = encodeRequest(newRequest({ state: 'pending', labels, requestor: 'zuul', tenantName: 't' }, clock.now()));
  const ephemeral = { ephemeral: true, sequential: true };
  const id = '200-0000000042' as RequestId;
  await clock.run(other.ensurePath(requestLockPath(id)));
  const entry = await clock.run(other.create(`${requestLockPath(id)}/0123__lock__`, '', ephemeral));
  await clock.run(other.create(`${REQUESTS_ROOT}/${id}`, body));
  const give = (fields: NodeFields) => rooms.world.createNode({ allocatedTo: id, tenantName: 't', ...fields });
  /** Releases the locks, as the end of the other session does. @param isThere - whether this launcher has the feature */
  const die = async ({ isThere = true } = {}) => {
    // not before: it would delete nodes that a process which has locked their request has not locked
    const reaper = new Reaper(rooms.world.context, rooms.providers, rooms.registry.registered);
    if (isThere) resumedLaunches(rooms.engine({ lost, pools, reaper }));
    await clock.run(other.delete(entry));
    await rooms.world.pass(1_000);
  };
  const end = async () => {
    finish();
    await rooms.world.pass(1_000);
    return rooms.stored(id);
  };
  const node = (of: NodeId) => rooms.world.context.mirror.nodes.get(of);
  const limit = async (maximum: number) => {
    const { now } = rooms.world.context.config;
    const changed = [...now.providers].map(([name, each]) => {
      const entry = { ...each.entry, 'max-concurrency': maximum };
      return [name, { ...each, entry, maxConcurrency: maximum }] as const;
    });
    await rooms.reload(pools, { ...now, providers: new Map(changed) });
  };
  return { limit, rooms, pool, orders, id, give, die, end, node, world: rooms.world };
}

describe('a request whose launcher is gone', () => {
  it('keeps its nodes: launches continue, ready ones stay, in the order of the labels', async () => {
    const { give, die, end, orders, pool, node, rooms } = await besideAnother(['a', 'b', 'a']);
    const b = await give({ ...begun, labels: ['b'] });
    const ready = await give({ state: 'ready', resources: { instances: 1 } });
    const a = await give(begun);

    await die();
    const [taken, used] = [
      orders.map(({ node: { id }, isResumed }) => [id, isResumed]),
      rooms.ledger.usedByTenant('t'),
    ];
    const request = await end();

    expect(new Set(taken)).toEqual(
      new Set([
        [b, true],
        [a, true],
      ]),
    );
    expect(used).toEqual({ instances: 3 });
    expect(request).toMatchObject({ state: 'fulfilled', nodeIds: [ready, b, a] });
    expect(node(a)?.launcher).toBe(pool.launcherId);
  });

  it('gets another node for a ready one whose machine is gone, and keeps the others', async () => {
    const { give, die, end, orders, node, world } = await besideAnother(['a', 'b']);
    const ready = await give({ state: 'ready', resources: { instances: 1 } });
    const b = await give({ ...begun, labels: ['b'] });
    await die();

    world.context.events.emit('nodeUnusable', { id: ready, why: 'its instance does not exist any more' });
    await world.pass(1_000);

    expect(node(ready)).toBeUndefined();
    expect(orders.map(({ node: { labels }, isResumed }) => [labels, isResumed])).toEqual([
      [['b'], true],
      [['a'], undefined],
    ]);
    expect(await end()).toMatchObject({ state: 'fulfilled', nodeIds: [orders[1]?.node.id, b] });
  });

  it('continues with a record that was never locked', async () => {
    const { give, die, end, orders } = await besideAnother(['a']);
    const id = await give({ ...begun, state: 'init', launchState: {} });

    await die();

    expect(orders).toMatchObject([{ isResumed: true, node: { id, state: 'building' } }]);
    expect(await end()).toMatchObject({ state: 'fulfilled', nodeIds: [id] });
  });

  it('waits for capacity for what it lacks', async () => {
    const { give, die, end, orders, rooms, world } = await besideAnother(['a', 'b']);
    const id = await give(begun);

    await die();
    await world.pass(1_000);

    expect(orders.map(({ isResumed }) => isResumed)).toEqual([true, undefined]);
    expect(rooms.ledger.activeLaunches('p')).toBe(2);
    expect((await end()).nodeIds).toEqual([id, orders[1]?.node.id]);
    expect(rooms.ledger.activeLaunches('p')).toBe(0);
  });

  it.each([
    ['the driver cannot continue', {}, { resumes: false }],
    ['the record does not say how far it is', { launchState: null }, { resumes: true }],
    ['the feature is not there', {}, { resumes: true }, false],
  ])('begins again where %s, once its nodes are taken back', async (_why, fields, able, isThere = true) => {
    const { give, die, end, orders, node } = await besideAnother(['a'], able);
    const id = await give({ ...begun, ...fields });

    await die({ isThere });

    expect(node(id)).toBeUndefined();
    expect(orders.map(({ isResumed }) => isResumed)).toEqual([undefined]);
    expect((await end()).state).toBe('fulfilled');
  });

  it('begins again elsewhere where no pool has its provider, once its launcher had the time to be replaced', async () => {
    const { give, die, orders, node, world } = await besideAnother(['a']);
    const id = await give({ ...begun, provider: 'unheard-of' });

    await die();
    await world.pass(8_000);
    expect(node(id)?.allocatedTo).not.toBeNull();
    await world.pass(2_000);

    expect(node(id)?.allocatedTo).toBeNull();
    expect(orders.map(({ isResumed }) => isResumed)).toEqual([undefined]);
  });

  it.each([
    [3, [true, true, undefined]],
    [2, [true, true]],
    [1, [true]],
  ])('continues its launches as max-concurrency %i allows', async (maxConcurrency, begins) => {
    const { give, die, orders } = await besideAnother(['a', 'b', 'a'], undefined, maxConcurrency);
    for (const label of ['a', 'b']) await give({ ...begun, labels: [label] });

    await die();

    expect(orders.map(({ isResumed }) => isResumed)).toEqual(begins);
  });

  it('waits until a launch in progress ends, if both were more than max-concurrency', async () => {
    const { give, die, end, orders, id, rooms } = await besideAnother(['a'], undefined, 1);
    await rooms.ask(['b']);
    const node = await give(begun);

    await die();
    const early = orders.map(({ isResumed }) => isResumed);
    const contenders = rooms.world.context.mirror.requests.contenders(id);
    const request = await end();

    expect([early, contenders]).toEqual([[undefined], 1]);
    expect(request).toMatchObject({ id, state: 'fulfilled', nodeIds: [node] });
  });

  it('goes back to the queue when max-concurrency becomes 0 while its launch waits for a turn', async () => {
    const { give, die, id, rooms, limit, orders, world } = await besideAnother(['a'], undefined, 1);
    await rooms.ask(['b']);
    await give(begun);
    await die();
    const before = await rooms.stored(id);

    await limit(0);
    await world.pass(1_000);

    expect([before.state, (await rooms.stored(id)).state]).toEqual(['pending', 'requested']);
    expect(rooms.world.context.mirror.requests.contenders(id)).toBe(0);
    expect(orders).toHaveLength(1);
  });

  it('keeps its nodes while it waits until its tenant may have what it lacks', async () => {
    const limits = new Map([['t', { instances: 2 }]]);
    const { give, die, orders, id, rooms, world } = await besideAnother(['a', 'a'], undefined, undefined, limits);
    const node = await give(begun);
    const { other, clock } = world;
    const used = await give({
      state: 'in-use',
      allocatedTo: '200-0000000001' as RequestId,
      resources: { instances: 1 },
    });

    await die();
    const early = orders.map(({ isResumed, node: { id } }) => [isResumed, id]);
    const { state } = await rooms.stored(id);
    await world.pass(60_000);
    const waiting = orders.length;
    await clock.run(other.deleteRecursive(`/nodepool/nodes/${used}`));
    await world.pass(1_000);

    expect([early, state, waiting]).toEqual([[[true, node]], 'pending', 1]);
    expect(orders.map(({ isResumed }) => isResumed)).toEqual([true, undefined]);
  });

  it('is neither taken over nor put back while one of its nodes is locked', async () => {
    const { give, die, rooms, id, world, orders } = await besideAnother(['a']);
    const node = await give(begun);
    const { other, clock } = world;
    await clock.run(other.ensurePath(`/nodepool/nodes/${node}/lock`));
    await clock.run(other.create(`/nodepool/nodes/${node}/lock/x`, '', { ephemeral: true, sequential: true }));

    await die();
    await world.pass(2_000);

    expect(rooms.world.context.mirror.nodes.contenders(node)).toBe(1);
    expect(orders.every(({ isResumed }) => isResumed !== true)).toBe(true);
    expect((await rooms.stored(id)).state).toBe('pending');
  });
});

const REQUEST = '200-0000000001' as RequestId;

function node(number: number, changes: Partial<NodeRecord> = {}): NodeRecord {
  const fields = { state: 'building', labels: ['a'], allocatedTo: REQUEST, launchState: {}, az: 'north' } as const;
  return { ...newNode(fields, 0), id: String(number) as NodeId, ...changes };
}

/** Ids of the nodes by part; `-`: none. */
function present(labels: readonly string[], nodes: readonly NodeRecord[]): string | undefined {
  const assignment = assignPresent({ ...newRequest({ labels }, 0), id: REQUEST }, nodes);
  return assignment?.parts.map(({ source }) => (source.kind === 'node' ? source.node.id : '-')).join(' ');
}

describe('isResumable', () => {
  it.each([
    [true, {}],
    [true, { state: 'init' }],
    [false, { state: 'ready' }],
    [false, { launchState: null }],
    [false, { allocatedTo: null }],
  ] as const)('is %s for a node that is being made with the changes %j', (expected, changes) => {
    expect(isResumable(node(1, changes))).toBe(expected);
  });
});

describe('assignPresent', () => {
  it('gives each label a node that has it, and leaves parts without one open', () => {
    expect(present(['a', 'b', 'a'], [node(1, { labels: ['b'] }), node(2, { state: 'ready' })])).toBe('2 1 -');
  });

  it('leaves out nodes that are of no use any more', () => {
    expect(present(['a'], [node(1, { state: 'failed' }), node(2)])).toBe('2');
  });

  it('keeps the zone, and knows whether something is missing', () => {
    const request = { ...newRequest({ labels: ['a', 'a'] }, 0), id: REQUEST };

    expect(assignPresent(request, [node(1)])).toMatchObject({ az: 'north', complete: false });
    expect(assignPresent(request, [node(1), node(2)])).toMatchObject({ complete: true });
  });

  it('assigns none if one does not fit, or they are too many for a transaction', () => {
    const many = Array.from({ length: NODES_PER_TRANSACTION + 1 }, (_, i) => node(i));

    expect(present(['a'], [node(1), node(2)])).toBeUndefined();
    expect(
      present(
        many.map(() => 'a'),
        many,
      ),
    ).toBeUndefined();
  });
});
