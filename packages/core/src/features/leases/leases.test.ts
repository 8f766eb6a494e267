import {
  encodeLease,
  encodeNode,
  leasePath,
  leaseSlotPath,
  nodeLockPath,
  nodePath,
  newLease,
  withLease,
  withNode,
  ZkLock,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { leaseWorld, MINUTE_MS, spec } from '../../../test/support/lease-world.js';
import { LeaseAgeError, LeaseLimitError, LeaseNodesLostError, LeaseUnreadableError } from './lease-spec.js';

/** Holds answers to reads of these paths. @returns lets those of one path arrive */
function holdReads(zk: ZooKeeper, paths: readonly string[]): (path: string) => void {
  const held = new Set(paths);
  let release = () => {};
  const multiRead = zk.multiRead.bind(zk);
  const hold: ZooKeeper['multiRead'] = async (reads) => {
    const results = await multiRead(reads);
    while (reads.some(({ path }) => held.has(path))) {
      const earlier = release;
      await new Promise<void>((resolve) => (release = () => (earlier(), resolve())));
    }
    return results;
  };
  Object.assign(zk, { multiRead: hold });
  return (path) => {
    held.delete(path);
    release();
  };
}

describe('a lease', () => {
  it('with the id of another one is that one', async () => {
    const { leases, lease, world } = await leaseWorld();
    const first = await lease();
    const second = await lease({ labels: ['b'] });

    expect(second).toEqual(leases.get('l1'));
    expect(second.labels).toEqual(first.labels);
    expect(world.context.mirror.requests.size).toBe(1);
  });

  it('waits for longer when it is renewed, and never for less', async () => {
    const { leases, lease, world } = await leaseWorld();
    const { dueTimeMs } = await lease({ giveUpMs: 10 * MINUTE_MS });

    const sooner = await world.clock.run(leases.renew('l1', MINUTE_MS));
    const later = await world.clock.run(leases.renew('l1', 20 * MINUTE_MS));

    expect(sooner?.dueTimeMs).toBe(dueTimeMs);
    expect(later?.dueTimeMs).toBeGreaterThanOrEqual((dueTimeMs ?? Infinity) + 10 * MINUTE_MS);
  });

  it('lasts longer when it is renewed, and so do its nodes', async () => {
    const { leases, lease, serve, node, world } = await leaseWorld();
    await lease();
    const [id] = await serve();
    await world.pass(9 * MINUTE_MS);

    await world.clock.run(leases.renew('l1', 10 * MINUTE_MS));

    expect((await node(id))?.holdExpirationMs).toBeGreaterThanOrEqual(19 * MINUTE_MS);
    await world.pass(9 * MINUTE_MS);
    expect(leases.get('l1')?.state).toBe('active');
  });

  it('is not taken for unknown when its record cannot be read', async () => {
    const { leases, world } = await leaseWorld();
    await world.clock.run(world.other.create(leasePath('l1'), 'of a later release'));
    await world.pass(1_000);

    await expect(world.clock.run(leases.look('l1'))).rejects.toThrow(LeaseUnreadableError);
    expect(await world.clock.run(leases.look('l2'))).toBeUndefined();
  });

  it('is not shown as it was before its record became unreadable', async () => {
    const { leases, lease, world } = await leaseWorld();
    await lease();
    await world.clock.run(world.other.setData(leasePath('l1'), 'of a later release'));

    await expect(world.clock.run(leases.look('l1'))).rejects.toThrow(LeaseUnreadableError);
    expect(await world.clock.run(leases.see('l1'))).toMatchObject({ lease: { state: 'waiting' } });
  });

  it('is refused, and not tried again without end, when there is a record of its id that cannot be read', async () => {
    const { leases, world } = await leaseWorld();
    await world.clock.run(world.other.create(leasePath('l1'), 'of a later release'));
    await world.pass(1_000);
    const before = world.zk.counters.requests;

    await expect(world.clock.run(leases.request(spec))).rejects.toThrow(LeaseUnreadableError);

    expect(world.zk.counters.requests - before).toBeLessThan(10);
  });

  it.each([
    ['one of its nodes', 1],
    ['all of its nodes', 2],
  ])('is not renewed once it has lost %s', async (_what, count) => {
    const { leases, lease, serve, node, write, world, stop } = await leaseWorld();
    await lease({ labels: ['a', 'a'] });
    const ids = await serve(2);
    const due = leases.get('l1')?.dueTimeMs;
    stop();
    for (const id of ids.slice(0, count)) await write(id, { state: 'deleting' });

    await expect(world.clock.run(leases.renew('l1', 20 * MINUTE_MS))).rejects.toThrow(LeaseNodesLostError);

    expect(leases.get('l1')?.dueTimeMs).toBe(due);
    expect((await node(ids[1]))?.holdExpirationMs).toBe(10 * MINUTE_MS);
  });

  it('says that the machine of a node is gone, and is not renewed', async () => {
    const { leases, lease, serve, world, stop, unusable } = await leaseWorld();
    await lease();
    const [id = '' as NodeId] = await serve();
    stop();
    const before = await world.clock.run(leases.look('l1'));
    unusable.push({
      provider: 'p',
      nodeId: id,
      why: 'its instance does not exist any more',
      sinceMs: 1,
      lastSeenMs: 1,
    });

    const after = await world.clock.run(leases.look('l1'));
    const refusal = await world.clock.run(leases.renew('l1', 20 * MINUTE_MS)).catch(String);

    expect([before, after].map((view) => view?.lostMachines?.get(id))).toEqual([
      undefined,
      'its instance does not exist any more',
    ]);
    expect(refusal).toContain(`Lease l1 has lost ${id}: its instance does not exist any more. Return it`);
  });

  it('is not said to be unknown by a launcher that stops while it asks for it', async () => {
    const { leases, stop, world } = await leaseWorld();

    const asked = leases.look('of another launcher').then((view) => view?.lease.state, String);
    stop();

    expect(await world.clock.run(asked)).toContain('cut off');
  });

  it('is not shown by a launcher that has been cut off for longer than the session timeout', async () => {
    const { leases, lease, serve, world } = await leaseWorld();
    await lease();
    await serve();
    const shown = () => leases.look('l1').then((view) => view?.lease.state, String);

    world.loseSession();
    await world.pass(4_000);
    const soon = await world.clock.run(shown());
    await world.pass(10_000);
    const later = [leases.knowledge, await world.clock.run(shown())];
    await world.pass(30_000);

    expect(soon).toBe('active');
    expect(later).toEqual(['cut-off', expect.stringContaining('cut off')]);
    expect([leases.knowledge, await world.clock.run(shown())]).toEqual(['current', 'active']);
  });

  it('is not shown by a launcher that loses its new connection before it has read all records', async () => {
    const { leases, lease, serve, world } = await leaseWorld();
    await lease();
    const [id = '' as NodeId] = await serve();
    const { sessionId } = world.zk;
    const release = holdReads(world.zk, [nodePath(id)]);
    world.loseSession();
    await world.pass(40_000);
    const reading = leases.knowledge;

    world.loseSession();
    await world.pass(1_000);

    expect(world.zk.sessionId).not.toBe(sessionId);
    expect([reading, world.zk.state, leases.knowledge]).toEqual(['cut-off', 'SUSPENDED', 'cut-off']);
    expect(world.zk.sessionLeftMs).toBeGreaterThan(0);
    release(nodePath(id));
    await world.pass(40_000);
    expect(leases.knowledge).toBe('current');
  });

  it('returns its nodes in the transaction that ends it', async () => {
    const { leases, lease, serve, node, world, stop } = await leaseWorld();
    await lease();
    const [id] = await serve();
    stop();

    await world.clock.run(leases.end('l1', 'returned by alice'));

    expect((await node(id))?.state).toBe('deleting');
  });

  it('ends also while another process has locked a node, which is returned afterwards', async () => {
    const { leases, lease, serve, node, world } = await leaseWorld();
    await lease({ labels: ['a', 'a'] });
    const [id, locked] = await serve(2);
    const lock = new ZkLock(world.other, nodeLockPath(locked as NodeId), { clock: world.clock });
    await world.clock.run(lock.acquire());
    await world.pass(100);

    await world.clock.run(leases.end('l1', 'returned by alice'));
    await world.pass(1_000);
    expect([leases.get('l1')?.state, (await node(id))?.state, (await node(locked))?.state]).toEqual([
      ...['ended', 'deleting', 'hold'],
    ]);
    await world.clock.run(lock.release());
    await world.pass(20_000);

    expect((await node(locked))?.state).toBe('deleting');
  });

  it('is renewed with all its nodes, also by a launcher that has just learnt that it is active', async () => {
    const { leases, lease, node, world } = await leaseWorld();
    let renewed: Promise<unknown> | undefined;
    leases.onChange(({ after }) => {
      if (after?.state === 'active') renewed ??= leases.renew('l1', 20 * MINUTE_MS);
    });
    await lease();
    const { id } = leases.requestOf('l1') ?? {};
    const held = { state: 'hold', userData: { lease: 'l1' }, holdExpirationMs: 10 * MINUTE_MS } as const;
    const nodeId = await world.createNode({ allocatedTo: id ?? null });
    const record = world.context.mirror.nodes.get(nodeId);
    const waiting = leases.get('l1');
    if (!waiting || !record) throw new Error('there is no lease');
    const nowMs = world.clock.now();
    const active = withLease(waiting, { state: 'active', nodeIds: [nodeId], dueTimeMs: nowMs + MINUTE_MS }, nowMs);
    const writes = [
      world.other.setData(leasePath('l1'), encodeLease(active)),
      world.other.setData(nodePath(nodeId), encodeNode(withNode(record, held, nowMs))),
    ];
    await world.clock.run(Promise.all(writes));
    await world.pass(500);
    await renewed;

    expect((await node(nodeId))?.holdExpirationMs).toBeGreaterThanOrEqual(20 * MINUTE_MS);
  });

  it('is shown as another launcher has just left it', async () => {
    const { leases, lease, world } = await leaseWorld();
    const { clock, other, zk } = world;
    await lease();
    const waiting = leases.get('l1');
    if (!waiting) throw new Error('there is no lease');
    const release = holdReads(zk, [leasePath('l1')]);
    const ended = withLease(waiting, { state: 'ended', dueTimeMs: null }, clock.now());
    await clock.run(other.setData(leasePath('l1'), encodeLease(ended)));

    const view = leases.look('l1');
    await world.pass(100);
    release(leasePath('l1'));

    expect(await clock.run(view)).toMatchObject({ lease: { state: 'ended' } });
  });

  it('is shown with its nodes when it becomes active while a launcher learns of it', async () => {
    const { leases, world } = await leaseWorld();
    const { clock, other, zk } = world;
    const nodeId = await world.createNode({ allocatedTo: null });
    const node = world.context.mirror.nodes.get(nodeId);
    if (!node) throw new Error('there is no node');
    const release = holdReads(zk, [leasePath('l1'), nodePath(nodeId)]);
    const waiting = newLease({ ...spec, keeper: 'other' }, clock.now());
    await clock.run(other.create(leasePath('l1'), encodeLease(waiting)));
    const view = leases.look('l1');
    await world.pass(100);

    const dueTimeMs = clock.now() + MINUTE_MS;
    const active = withLease(waiting, { state: 'active', nodeIds: [nodeId], dueTimeMs }, clock.now());
    const held = { state: 'hold', userData: { lease: 'l1' }, holdExpirationMs: MINUTE_MS } as const;
    const write = other.multi([
      { op: 'set', path: leasePath('l1'), data: encodeLease(active) },
      { op: 'set', path: nodePath(nodeId), data: encodeNode(withNode(node, held, clock.now())) },
    ]);
    await clock.run(write);
    await world.pass(100);
    release(leasePath('l1'));
    await world.pass(100);
    release(nodePath(nodeId));

    expect(await clock.run(view)).toMatchObject({ lease: { state: 'active' }, nodes: [{ id: nodeId }] });
  });

  it.each(['waiting', 'active'])('that is %s ends at once when it is returned', async (state) => {
    const { leases, lease, serve, node, world } = await leaseWorld();
    await lease();
    const ids = state === 'active' ? await serve() : [];

    await world.clock.run(leases.end('l1', 'returned'));
    await world.pass(200);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'returned' });
    expect(world.context.mirror.requests.size).toBe(0);
    for (const id of ids) expect((await node(id))?.state).toBe('deleting');
    expect(await world.clock.run(leases.end('l1', 'again'))).toMatchObject({ endReason: 'returned' });
  });
});

describe('max-hold-age', () => {
  it('limits the whole time of a lease, renewals included', async () => {
    const { leases, lease, serve, world } = await leaseWorld();
    const { config } = world.context;
    config.now = { ...config.now, maxHoldAgeMs: 10 * MINUTE_MS };
    await expect(lease({ ttlMs: 11 * MINUTE_MS })).rejects.toThrow(LeaseAgeError);
    await lease();
    await serve();
    await world.pass(4 * MINUTE_MS);

    await world.clock.run(leases.renew('l1', 5 * MINUTE_MS));
    const tooLong = world.clock.run(leases.renew('l1', 6 * MINUTE_MS));

    await expect(tooLong).rejects.toThrow('ends a lease after 600 s: 359 s are left');
  });
});

describe('the most nodes of a token', () => {
  it('do not count a lease that has just ended at another launcher', async () => {
    const { leases, lease, world, launcher } = await leaseWorld();
    const { leases: other } = await launcher('other');
    await lease({ maxNodes: 1 });
    await world.pass(100);

    const ended = leases.end('l1', 'returned');
    const next = ended.then(() => other.request({ ...spec, id: 'l2', maxNodes: 1 }));

    expect(await world.clock.run(next)).toMatchObject({ state: 'waiting', slots: [0] });
  });

  it('are never exceeded, and are counted again when a lease is over', async () => {
    const { leases, lease, world } = await leaseWorld();
    await lease({ id: 'l1', maxNodes: 2 });
    await lease({ id: 'l2', maxNodes: 2 });
    const slots = ['l1', 'l2'].map((id) => leases.get(id)?.slots);
    expect(slots.flat().sort()).toEqual([0, 1]);
    await expect(lease({ id: 'l3', maxNodes: 2 })).rejects.toThrow(LeaseLimitError);

    await world.clock.run(leases.end('l1', 'returned'));
    await lease({ id: 'l3', maxNodes: 2 });

    expect(leases.get('l3')).toMatchObject({ state: 'waiting', slots: slots[0] });
  });

  it('are taken from different numbers by leases requested at the same time, one of them twice', async () => {
    const { leases, lease } = await leaseWorld();
    const ids = Array.from({ length: 10 }, (_, i) => `l${i}`);
    const [first] = await Promise.all([...ids, 'l0'].map((id) => lease({ id, maxNodes: 10 })));

    expect(ids.map((id) => leases.get(id)?.slots[0]).sort()).toEqual(ids.map((_, i) => i));
    expect(first?.id).toBe('l0');
  });

  it('count what the mirror does not show yet', async () => {
    const { lease, world } = await leaseWorld();
    await world.clock.run(world.other.create(leaseSlotPath('alice', 0), ''));

    expect((await lease({ maxNodes: 2 })).slots).toEqual([1]);
    await expect(lease({ id: 'l2', maxNodes: 2 })).rejects.toThrow('Token "alice" may have 2 nodes at a time');
  });
});
