import type { JsonObject, ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../virtual-clock.js';
import { InvariantChecker } from './invariant-checker.js';

const NODE = '/nodepool/nodes/0000000001';
const REQUEST = '/nodepool/requests/200-0000000001';
const ready = { state: 'ready', type: ['small'], allocated_to: '200-0000000001' };
const fulfilled = { state: 'fulfilled', node_types: ['small'], nodes: ['0000000001'] };

let clock: VirtualClock;
let violations: string[];
let checker: InvariantChecker;
let launcher: ZooKeeper;
let other: ZooKeeper;

beforeEach(async () => {
  clock = new VirtualClock();
  violations = [];
  checker = new InvariantChecker((violation) => violations.push(violation));
  const server = new MemoryServer(clock, checker.onTransaction);
  launcher = await connect(server, 'launcher 1');
  other = await connect(server, 'another');
  for (const tree of ['nodes', 'requests', 'requests-lock']) await clock.run(launcher.ensurePath(`/nodepool/${tree}`));
});

async function connect(server: MemoryServer, name: string): Promise<ZooKeeper> {
  const { zk } = connectInMemory(server, { clock, random: () => 0.5 });
  checker.follow(zk, name);
  await clock.run(zk.whenConnected());
  return zk;
}

const bytes = (body: JsonObject) => Buffer.from(JSON.stringify(body));

async function create(path: string, body: JsonObject = {}): Promise<void> {
  await clock.run(launcher.create(path, bytes(body)));
}

async function write(zk: ZooKeeper, path: string, body: JsonObject): Promise<void> {
  await clock.run(zk.setData(path, bytes(body)));
}

async function lock(path: string, holder = launcher): Promise<void> {
  await clock.run(holder.ensurePath(path));
  await clock.run(holder.create(`${path}/0123-lock-0000000000`, Buffer.alloc(0), { ephemeral: true }));
}

async function unlock(path: string): Promise<void> {
  await clock.run(launcher.delete(`${path}/0123-lock-0000000000`));
  await clock.run(launcher.delete(path));
}

it('complains of a stopped node that becomes ready without a start, and of one that is stopped for a request', async () => {
  await create(NODE, { ...ready, allocated_to: null, state: 'testing' });

  await write(launcher, NODE, { ...ready, allocated_to: null });
  await write(launcher, NODE, ready);
  await write(launcher, NODE, { ...ready, state: 'testing' });

  expect(violations).toEqual([
    'launcher 1 makes node 0000000001 ready, whose instance is stopped',
    'launcher 1 stops node 0000000001 of request 200-0000000001',
  ]);
});

it('complains of two machines of a provider at one address, and not of slots of one machine', async () => {
  const at = { provider: 'sky', interface_ip: '192.0.2.7', connection_port: 22 };
  const [first, second] = ['0000000001', '0000000002'].map((id) => `/nodepool/nodes/${id}`) as [string, string];
  await create(first, { ...ready, ...at, allocated_to: null, slot: 0 });
  await create(second, { ...ready, ...at, allocated_to: null, slot: 1 });
  const beforehand = [...violations];
  await create('/nodepool/nodes/0000000003', { ...ready, ...at, allocated_to: null });
  await create('/nodepool/nodes/0000000004', { ...ready, ...at, allocated_to: null, connection_port: 2222 });
  await create('/nodepool/nodes/0000000005', { ...ready, ...at, allocated_to: null, connection_port: null });

  expect(beforehand).toEqual([]);
  expect(violations).toEqual([
    'launcher 1 makes node 0000000005 ready at sky 192.0.2.7 port 22, where node 0000000003 (ready) is',
  ]);
});

describe('the checker accepts', () => {
  it('a request that gets its nodes, and nodes that are used and deleted', async () => {
    await create(REQUEST, { state: 'requested', node_types: ['small'] });
    await lock('/nodepool/requests-lock/200-0000000001');
    await create(NODE, { ...ready, state: 'building' });
    await lock(`${NODE}/lock`);
    await write(launcher, NODE, ready);
    await unlock(`${NODE}/lock`);
    await write(launcher, REQUEST, fulfilled);
    await write(other, NODE, { ...ready, state: 'in-use' });
    await write(other, NODE, { ...ready, state: 'used' });
    await write(launcher, NODE, { ...ready, state: 'deleting' });
    await clock.run(launcher.delete(NODE));

    expect(violations).toEqual([]);
    expect(checker.fulfilled).toBe(1);
  });
});

it('lets a node be held for longer while an operator has its lock, and nothing else of it be changed', async () => {
  await create(NODE, { ...ready, state: 'hold', hold_expiration: 60 });
  await lock(`${NODE}/lock`, other);

  await write(launcher, NODE, { ...ready, state: 'hold', hold_expiration: 90 });
  const longer = [...violations];
  await write(launcher, NODE, { ...ready, state: 'hold', hold_expiration: 90, comment: 'mine' });

  expect([longer, violations]).toEqual([[], [`launcher 1 setDatas ${NODE} while another holds its lock`]]);
});

it('lets a request be created whose number a client has locked, as in a database that was lost', async () => {
  await lock('/nodepool/requests-lock/200-0000000001', other);

  await create(REQUEST, { state: 'requested', node_types: ['small'] });

  expect(violations).toEqual([]);
});

describe('it is a violation', () => {
  it('to write what another process has locked', async () => {
    await create(NODE, ready);
    await lock(`${NODE}/lock`);

    await write(other, NODE, { ...ready, state: 'in-use' });

    expect(violations).toEqual([`another setDatas ${NODE} while launcher 1 holds its lock`]);
  });

  it.each([
    ['to say how far a launch is', 'building', { external_id: 'i-1', launch_state: {} }, 'external_id, launch_state'],
    ['to end a launch', 'building', { state: 'ready' }, 'state'],
    ['to end a deletion', 'deleting', { state: 'deleted' }, 'state'],
  ])('%s without the lock of the node', async (_what, state, changes, keys) => {
    await create(NODE, { ...ready, state });

    await write(launcher, NODE, { ...ready, state, ...changes });

    expect(violations).toEqual([`launcher 1 writes ${keys} of ${state} node 0000000001 and does not hold its lock`]);
  });

  it('to take a lock from another process', async () => {
    await create(NODE, ready);
    await lock(`${NODE}/lock`);

    await clock.run(other.delete(`${NODE}/lock/0123-lock-0000000000`));

    expect(violations).toEqual([`another takes the lock entry ${NODE}/lock/0123-lock-0000000000 of launcher 1 away`]);
  });

  it('to create a znode that is not part of the data model', async () => {
    await create('/nodepool/scratch');

    expect(violations).toEqual(['launcher 1 creates a znode that does not belong there: /nodepool/scratch']);
  });

  it.each([
    ['too few nodes', { nodes: [] }, ready, '1 labels, 0 nodes'],
    ['a node that is not ready', {}, { ...ready, state: 'building' }, 'node 0000000001 is building'],
    ['a node of another request', {}, { ...ready, allocated_to: null }, 'node 0000000001 is allocated to null'],
    ['a node of another label', {}, { ...ready, type: ['big'] }, 'node 0000000001 has not label small'],
  ])('to fulfil a request with %s', async (_what, request, node, why) => {
    await create(REQUEST, { state: 'pending', node_types: ['small'] });
    await create(NODE, node);

    await write(launcher, REQUEST, { ...fulfilled, ...request });

    expect(violations).toContain(`launcher 1 fulfils request 200-0000000001 wrongly: ${why}`);
  });

  it('to fulfil a request with a node that is still locked', async () => {
    await create(REQUEST, { state: 'pending', node_types: ['small'] });
    await create(NODE, ready);
    await lock(`${NODE}/lock`);

    await write(launcher, REQUEST, fulfilled);

    expect(violations).toEqual(['launcher 1 fulfils request 200-0000000001 wrongly: node 0000000001 is locked']);
  });

  it('to answer a request twice', async () => {
    await create(REQUEST, { state: 'failed', node_types: ['small'], nodes: [] });

    await write(launcher, REQUEST, { state: 'requested', node_types: ['small'], nodes: [] });

    expect(violations).toEqual(['launcher 1 makes failed request 200-0000000001 requested']);
  });

  it('to put a fulfilled request back, except that of a lease which has lost a node', async () => {
    const ofLease = { requestor: 'NodePool:lease', node_types: ['small'] };
    await create(REQUEST, { ...ofLease, state: 'pending' });
    await create(NODE, ready);
    await write(launcher, REQUEST, { ...fulfilled, ...ofLease });
    await write(launcher, REQUEST, { ...ofLease, state: 'requested', nodes: [] });
    expect(violations).toEqual(['launcher 1 makes fulfilled request 200-0000000001 requested']);

    await write(launcher, REQUEST, { ...fulfilled, ...ofLease });
    await write(other, NODE, { ...ready, state: 'hold', allocated_to: null });
    violations = [];
    await write(launcher, REQUEST, { ...ofLease, state: 'requested', nodes: [] });
    expect(violations).toEqual([]);
  });

  it('to take a node from a request that has it', async () => {
    await create(REQUEST, { state: 'pending', node_types: ['small'] });
    await create(NODE, ready);
    await write(launcher, REQUEST, fulfilled);

    await write(launcher, NODE, { ...ready, state: 'deleting' });
    await write(launcher, NODE, { ...ready, state: 'deleting', allocated_to: null });

    expect(violations).toEqual([
      'launcher 1 marks for deletion node 0000000001 of fulfilled request 200-0000000001',
      'launcher 1 takes node 0000000001 from fulfilled request 200-0000000001',
    ]);
  });

  it('to register one slot of a host twice', async () => {
    const slot = { ...ready, allocated_to: null, hostname: 'rack1', connection_port: 22, slot: 0 };
    await create(NODE, slot);

    await create('/nodepool/nodes/0000000002', slot);

    expect(violations).toEqual([
      'launcher 1 makes node 0000000002 for slot rack1:22#0, which node 0000000001 (ready) has',
    ]);
  });
});
