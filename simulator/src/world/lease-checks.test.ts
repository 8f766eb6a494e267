import {
  encodeLease,
  encodeNode,
  encodeRequest,
  LEASE_REQUESTOR,
  leasePath,
  leaseSlotPath,
  leaseSlotsPath,
  newLease,
  newNode,
  newRequest,
  nodePath,
  REQUESTS_ROOT,
  withLease,
  type LeaseRecord,
  type NodeId,
  type NodeRecord,
  type Operation,
} from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedProcess } from './process.js';
import { World } from './world.js';

const TTL_MS = 60_000;
const [NODE, OTHER] = ['0000000001', '0000000002'] as [NodeId, NodeId];
const requestPath = (number: string) => `${REQUESTS_ROOT}/200-${number}`;

let world: World;
let launcher: SimulatedProcess;

beforeEach(async () => {
  world = new World(1, false);
  launcher = new SimulatedProcess(world, 'launcher1', world.server);
  const paths = ['/nodepool/nodes', REQUESTS_ROOT, '/nodepool/leases', leaseSlotsPath('alice')];
  for (const path of paths) await write(launcher.zk.ensurePath(path));
});
afterEach(() => world.restore());

async function write(made: Promise<unknown>): Promise<void> {
  let isDone = false;
  void made.then(() => (isDone = true));
  await world.run(5_000, () => isDone);
  if (world.violations.length === 0) await made;
}

const now = () => world.clock.now();
const violations = () => world.violations.map(({ message }) => message);
const commit = (...operations: Operation[]) => write(launcher.zk.multi(operations));

function lease(changes: Partial<LeaseRecord> = {}): LeaseRecord {
  const fields = { id: 'l1', owner: 'alice', token: 'alice', labels: ['small'], digest: '', keeper: '' };
  return { ...newLease({ ...fields, ttlMs: TTL_MS }, now()), ...changes };
}
const active = (changes: Partial<LeaseRecord> = {}) =>
  withLease(lease(changes), { state: 'active', nodeIds: [NODE], dueTimeMs: now() + TTL_MS, ...changes }, now());

const makeLease = (record: LeaseRecord): Operation => ({
  op: 'create',
  path: leasePath(record.id),
  data: encodeLease(record),
});
const setLease = (record: LeaseRecord): Operation => ({
  op: 'set',
  path: leasePath(record.id),
  data: encodeLease(record),
});
function makeRequest(id = 'l1', number = '0000000001'): Operation {
  const fields = { labels: ['small'], requestor: LEASE_REQUESTOR, requestorData: { lease: id } };
  return { op: 'create', path: requestPath(number), data: encodeRequest(newRequest(fields, now())) };
}
const removeRequest = (number = '0000000001'): Operation => ({ op: 'delete', path: requestPath(number) });
function node(op: 'create' | 'set', changes: Partial<NodeRecord> = {}, id = NODE): Operation {
  const held = { state: 'hold', labels: ['small'], userData: { lease: 'l1' } } as const;
  const data = encodeNode({ ...newNode({ ...held, provider: 'p', pool: 'q' }, now()), ...changes });
  return { op, path: nodePath(id), data };
}

/** A lease with one node, from its request until it is active. */
async function activate(): Promise<void> {
  await commit(makeLease(lease()), makeRequest());
  await commit(setLease(active()), removeRequest(), node('create'));
}

describe('the checks of leases', () => {
  it('accept a lease that is served, expires, and is forgotten', async () => {
    await activate();
    await world.run(TTL_MS);
    await commit(setLease(lease({ state: 'ended', endReason: 'it expired' })));
    await commit(node('set', { state: 'deleting' }));
    await commit({ op: 'delete', path: leasePath('l1') });

    expect([...violations(), ...world.leases.overdue(), ...world.leases.leftovers()]).toEqual([]);
  });

  it('find a node of two leases', async () => {
    await activate();
    await commit(makeLease(lease({ id: 'l2' })), makeRequest('l2', '0000000002'));
    const second = active({ id: 'l2' });

    await commit(setLease(second), removeRequest('0000000002'), node('set', { userData: { lease: 'l2' } }));

    expect(violations().join()).toContain(`makes lease l2 active with node ${NODE} of lease l1`);
  });

  it.each([
    ['is not on hold for it', () => node('create', { state: 'ready' }), `without node ${NODE}`],
    ['has another label', () => node('create', { labels: ['large'] }), `node ${NODE}, which has not label small`],
    ['is missing', () => node('create', {}, OTHER), `without node ${NODE}`],
  ])('find an active lease whose node %s', async (_what, made, violation) => {
    await commit(makeLease(lease()), makeRequest());
    await commit(setLease(active()), removeRequest(), made());

    expect(violations()).toEqual([
      `launcher1 makes lease l1 active ${violation.startsWith('node') ? 'with ' : ''}${violation}`,
    ]);
  });

  it.each([
    ['deleted', { state: 'deleting' }, 'takes node 0000000001 from lease l1, which is active'],
    ['given to a request', { state: 'ready' }, 'makes node 0000000001 of lease l1 ready'],
  ] as const)('find a node that is %s while its lease is active', async (_what, changes, violation) => {
    await activate();
    await commit(node('set', changes));

    expect(violations()).toEqual([`launcher1 ${violation}`]);
  });

  it('find a waiting lease that is requested again, or whose request is deleted', async () => {
    await commit(makeLease(lease()), makeRequest());
    await commit(makeRequest('l1', '0000000002'));
    expect(violations()).toEqual(['launcher1 requests nodes again for lease l1: it loses its place']);

    world.violations.length = 0;
    await commit(removeRequest('0000000002'));
    expect(violations()).toEqual(['launcher1 deletes the request of lease l1, which waits']);
  });

  it('find a lease without a request', async () => {
    await commit(makeLease(lease()));

    expect(violations()).toEqual(['launcher1 makes lease l1 without a request']);
  });

  it.each([
    ['it expired', 0],
    ['max-hold-age of the configuration ends a lease after 20 s', 20_000],
  ])('find a lease that ends early because %s', async (endReason, maxHoldAgeMs) => {
    world.leases.maxHoldAgeMs = maxHoldAgeMs;
    await activate();
    await world.run(10_000);
    await commit(setLease(lease({ state: 'ended', endReason })));

    expect(violations()).toEqual([expect.stringMatching(/^launcher1 ends lease l1 \d+ ms early$/)]);
  });

  it('find a lease that ends for lost nodes, which are there', async () => {
    await activate();
    await commit(setLease({ ...active(), state: 'ended', endReason: 'its nodes are gone' }));

    expect(violations()).toEqual([`launcher1 ends lease l1, which has node ${NODE}`]);
  });

  it('find a lease whose request is taken for cancelled', async () => {
    await commit(makeLease(lease()), makeRequest());
    await commit(removeRequest(), setLease(lease({ state: 'ended', endReason: 'its request was cancelled' })));

    expect(violations()).toEqual(['launcher1 takes a request for cancelled: lease l1']);
  });

  it('find a lease that begins again, or is forgotten too early', async () => {
    await activate();
    await commit({ op: 'delete', path: leasePath('l1') });
    expect(violations()).toEqual(['launcher1 forgets a lease that is not over: lease l1']);

    world.violations.length = 0;
    await commit(makeLease(lease({ id: 'l2', state: 'ended' })), makeRequest('l2'));
    await commit(setLease(lease({ id: 'l2' })));
    expect(violations()).toEqual(['launcher1 makes a lease that is over waiting: lease l2']);
  });

  it('find a token with too many nodes', async () => {
    world.leases.mostNodes.set('alice', 2);
    await commit(makeLease(lease()), makeRequest());
    await commit(makeLease(lease({ id: 'l2' })), makeRequest('l2', '0000000002'));
    expect(violations()).toEqual([]);

    await commit(makeLease(lease({ id: 'l3' })), makeRequest('l3', '0000000003'));

    expect(violations()).toEqual(['launcher1 makes lease l3: 3 nodes for token alice, of at most 2']);
  });

  it('find a lease that is kept beyond its end', async () => {
    await activate();
    await world.run(TTL_MS + 4_000);
    expect(world.leases.overdue()).toEqual([]);
    await world.run(2_000);

    expect(world.leases.overdue()).toEqual([expect.stringMatching(/^lease l1 is still active, \d+ ms after its end$/)]);
  });

  it('know how long a lease has been over where launchers count by a wrong time', async () => {
    await activate();
    const ended = lease({ state: 'ended', endReason: 'returned', stateTimeMs: now() - 300_000 });
    await commit(setLease(ended));
    const endMs = now();
    await world.run(2_000);
    await commit(setLease(ended));

    expect(Math.abs((world.leases.leases.get('l1')?.sinceMs ?? 0) - endMs)).toBeLessThan(1_000);
  });

  it('find leftovers', async () => {
    await activate();
    await commit({ op: 'create', path: leaseSlotPath('alice', 0) });

    expect(world.leases.leftovers()).toEqual([
      'lease l1 is active',
      `${leaseSlotPath('alice', 0)} is occupied`,
      `node ${NODE} is held for a lease`,
    ]);
  });
});
