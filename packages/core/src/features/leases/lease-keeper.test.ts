import {
  encodeLease,
  encodeNode,
  encodeRequest,
  leasePath,
  newLease,
  nodeLockPath,
  nodePath,
  requestCreatePath,
  requestLockPath,
  requestPath,
  withNode,
  withRequest,
  ZkLock,
  type NodeId,
  type NodeRecord,
  type LauncherId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { leaseWorld, MINUTE_MS, spec } from '../../../test/support/lease-world.js';
import { KEPT_MS, MOST_KEPT } from './lease-keeper.js';

describe('a lease', () => {
  it('waits with its request until that is fulfilled; then its nodes are on hold for it', async () => {
    const { leases, lease, serve, node, request, world } = await leaseWorld();
    await lease({ priority: 100, tenantName: 't' });
    expect(leases.get('l1')).toMatchObject({ state: 'waiting', nodeIds: [] });
    expect(leases.requestOf('l1')).toMatchObject({ id: request().id, labels: ['a'], tenantName: 't' });
    expect(request().id).toMatch(/^100-/);

    const ids = await serve(1);

    const hold = { state: 'hold', allocatedTo: null, userData: { lease: 'l1' }, holdExpirationMs: 10 * MINUTE_MS };
    expect(await node(ids[0])).toMatchObject(hold);
    expect(leases.get('l1')).toMatchObject({ state: 'active', nodeIds: ids });
    expect(world.context.mirror.requests.size).toBe(0);
  });

  it('ends when it expires, and its nodes are deleted', async () => {
    const { leases, lease, serve, node, world, sweep } = await leaseWorld();
    await lease();
    const [id] = await serve();

    await world.pass(9 * MINUTE_MS);
    expect(leases.get('l1')?.state).toBe('active');
    await world.pass(2 * MINUTE_MS);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'it expired' });
    expect((await node(id))?.state).toBe('deleting');
    await world.pass(KEPT_MS + MINUTE_MS);
    sweep();
    await world.pass(100);
    expect(leases.get('l1')).toBeUndefined();
  });

  it('waits no longer than it is meant to', async () => {
    const { leases, lease, world } = await leaseWorld();
    await lease({ giveUpMs: MINUTE_MS });

    await world.pass(2 * MINUTE_MS);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'it was not served in time' });
    expect(world.context.mirror.requests.size).toBe(0);
  });

  it('fails with the reason of each pool', async () => {
    const { leases, lease, request, world } = await leaseWorld();
    await lease();
    const declineReasons = { p: { rule: 'quota', text: 'too big', timeMs: 0 } };
    const failed = withRequest(request(), { state: 'failed', declineReasons }, world.clock.now());
    await world.clock.run(world.other.setData(requestPath(request().id), encodeRequest(failed)));
    await world.pass(200);

    expect(leases.get('l1')).toMatchObject({ state: 'failed', endReason: 'p: too big' });
    expect(world.context.mirror.requests.size).toBe(0);
  });

  it('fails with the name of each pool once when no pool gave a reason', async () => {
    const { leases, lease, request, world } = await leaseWorld();
    await lease();
    const declinedBy = ['nl01', 'nl02'].map(
      (host) => `${host}-PoolWorker.rack-main-${'0123456789abcdef'.repeat(2)}` as LauncherId,
    );
    const failed = withRequest(request(), { state: 'failed', declinedBy }, world.clock.now());
    await world.clock.run(world.other.setData(requestPath(request().id), encodeRequest(failed)));
    await world.pass(200);

    expect(leases.get('l1')).toMatchObject({ state: 'failed', endReason: 'declined by rack-main' });
  });

  it('ends when its request is cancelled', async () => {
    const { leases, lease, request, world } = await leaseWorld();
    await lease();
    await world.clock.run(world.other.delete(requestPath(request().id)));
    await world.pass(500);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'its request was cancelled' });
  });

  it.each(['all fields', 'one field'])('keeps waiting while %s of its request cannot be read', async (what) => {
    const { leases, lease, request, world, stop, launcher } = await leaseWorld();
    await lease();
    const { id } = request();
    const { data } = await world.clock.run(world.other.getData(requestPath(id)));
    const body = data.toString();
    stop();
    await world.clock.run(world.other.delete(requestPath(id)));
    const spoiled = what === 'all fields' ? '{"sta' : body.replace('"requestor":"NodePool:lease"', '"requestor":7');
    expect(spoiled).not.toBe(body);
    await world.clock.run(world.other.create(requestPath(id), spoiled));
    const { leases: others, sweep } = await launcher('other');
    await world.pass(5_000);
    expect(leases.get('l1')?.state).toBe('waiting');

    await world.clock.run(world.other.setData(requestPath(id), body));
    await world.pass(500);
    sweep();
    await world.pass(5_000);

    expect(others.requestOf('l1')?.id).toBe(id);
    expect(leases.get('l1')?.state).toBe('waiting');
  });

  it('keeps waiting when its record is there again, as after a restored database', async () => {
    const { leases, lease, request, world, sweep } = await leaseWorld();
    await lease();
    const { id } = request();
    const { data } = await world.clock.run(world.other.getData(leasePath('l1')));

    await world.clock.run(world.other.delete(leasePath('l1')));
    await world.pass(100);
    await world.clock.run(world.other.create(leasePath('l1'), data));
    await world.pass(5_000);
    sweep();
    await world.pass(5_000);

    expect([leases.get('l1')?.state, leases.requestOf('l1')?.id]).toEqual(['waiting', id]);
  });

  it('stays active while its node cannot be read, and ends when it expires', async () => {
    const { leases, lease, serve, world, stop, launcher } = await leaseWorld();
    await lease();
    const [id] = await serve();
    if (!id) throw new Error('there is no node');
    stop();
    await world.clock.run(world.other.delete(nodePath(id)));
    await world.clock.run(world.other.create(nodePath(id), '{"sta'));
    await launcher('other');
    await world.pass(9 * MINUTE_MS);
    expect(leases.get('l1')?.state).toBe('active');

    await world.pass(2 * MINUTE_MS);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'it expired' });
  });

  it('stays active while its node cannot be read by a launcher that knows it as it was before', async () => {
    const { leases, lease, serve, world, write, launcher, stop } = await leaseWorld();
    await lease();
    const [id] = await serve();
    if (!id) throw new Error('there is no node');
    stop();
    await write(id, { state: 'ready', userData: null });
    await world.clock.run(world.other.setData(nodePath(id), '{"sta'));
    await launcher('other');

    await world.pass(MINUTE_MS);

    expect(leases.get('l1')?.state).toBe('active');
  });

  it.each(['knows it as it was before', 'never could read it'])(
    'waits while a node of its fulfilled request cannot be read by a launcher that %s',
    async (known) => {
      const { leases, lease, request, world, node } = await leaseWorld();
      const { clock, other } = world;
      await lease();
      const { id } = request();
      const made = await world.createNode({ allocatedTo: null });
      const body = encodeNode(withNode((await node(made)) as NodeRecord, { allocatedTo: id }, clock.now()));
      if (known === 'never could read it') await clock.run(other.delete(nodePath(made)));
      await world.pass(100);
      if (known === 'never could read it') await clock.run(other.create(nodePath(made), body.slice(0, 9)));
      else await clock.run(other.setData(nodePath(made), body.slice(0, 9)));
      const fulfilled = withRequest(request(), { state: 'fulfilled', nodeIds: [made] }, clock.now());
      await clock.run(other.setData(requestPath(id), encodeRequest(fulfilled)));
      await world.pass(10_000);
      expect(request().state).toBe('fulfilled');

      await clock.run(other.setData(nodePath(made), body));
      await world.pass(500);

      expect(leases.get('l1')).toMatchObject({ state: 'active', nodeIds: [made] });
    },
  );

  it('ends when it waits no longer, also while a node of its fulfilled request cannot be read', async () => {
    const { leases, lease, request, world } = await leaseWorld();
    await lease({ giveUpMs: MINUTE_MS });
    const { id } = request();
    const made = await world.createNode({ allocatedTo: id });
    await world.clock.run(world.other.setData(nodePath(made), '{"sta'));
    const fulfilled = withRequest(request(), { state: 'fulfilled', nodeIds: [made] }, world.clock.now());
    await world.clock.run(world.other.setData(requestPath(id), encodeRequest(fulfilled)));

    await world.pass(MINUTE_MS + 500);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'it was not served in time' });
  });

  it('ends when all its nodes are gone', async () => {
    const { leases, lease, serve, write, world } = await leaseWorld();
    await lease({ labels: ['a', 'a'] });
    const [one, two] = await serve(2);

    await write(one as NodeId, { state: 'deleting' });
    expect(leases.get('l1')?.state).toBe('active');
    await write(two as NodeId, { state: 'deleting' });
    await world.pass(500);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: expect.stringContaining('gone') as string });
  });

  it('waits again at its place in the queue when a node was lost before it was active', async () => {
    const { leases, lease, request, world, node } = await leaseWorld();
    await lease({ labels: ['a', 'a'] });
    const { id } = request();
    const other = await world.createNode({ allocatedTo: id });
    const lost = await world.createNode({ allocatedTo: null });
    const lock = new ZkLock(world.other, requestLockPath(id), { clock: world.clock });
    await world.clock.run(lock.acquire());
    const fulfilled = withRequest(request(), { state: 'fulfilled', nodeIds: [other, lost] }, world.clock.now());
    await world.clock.run(world.other.setData(requestPath(id), encodeRequest(fulfilled)));
    await world.pass(500);
    expect(request().state).toBe('fulfilled'); // its lock is still held
    await world.clock.run(lock.release());
    await world.pass(2_000);

    expect(leases.get('l1')?.state).toBe('waiting');
    expect(leases.requestOf('l1')).toMatchObject({ id, state: 'requested', nodeIds: [] });
    expect(await node(other)).toMatchObject({ state: 'ready', allocatedTo: null });
  });

  it.each([3_600_000, -3_600_000])('ends on time at a launcher whose clock is %i ms ahead', async (aheadMs) => {
    const { leases, lease, serve, node, world, launcher, stop } = await leaseWorld();
    await lease();
    const [id] = await serve();
    stop();
    await launcher('other', aheadMs);

    await world.pass(9 * MINUTE_MS);
    expect(leases.get('l1')?.state).toBe('active');
    await world.pass(2 * MINUTE_MS);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'it expired' });
    expect((await node(id))?.state).toBe('deleting');
  });

  it('ends as early as a lowered max-hold-age says, at the time it shows and with that reason', async () => {
    const { leases, lease, serve, world, sweep } = await leaseWorld();
    await lease();
    await serve();
    const beganMs = leases.get('l1')?.stateTimeMs ?? 0;
    const { config } = world.context;
    config.now = { ...config.now, maxHoldAgeMs: 2 * MINUTE_MS };
    sweep();
    const active = leases.get('l1');
    expect(active && leases.endOf(active)?.timeMs).toBe(beganMs + 2 * MINUTE_MS);

    await world.pass(MINUTE_MS);
    expect(leases.get('l1')?.state).toBe('active');
    await world.pass(MINUTE_MS + 500);

    const endReason = 'max-hold-age of the configuration ends a lease after 120 s';
    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason });
  });

  it('that is over is forgotten early when many others have ended since', async () => {
    const { leases, world } = await leaseWorld();
    const body = (id: string) =>
      encodeLease({ ...newLease({ ...spec, id, slots: [], keeper: 'me' }, 0), state: 'ended' });
    const create = (id: string) => world.other.create(leasePath(id), body(id));
    await world.clock.run(create('oldest'));
    await world.pass(100);
    const ids = Array.from({ length: MOST_KEPT }, (_, i) => `l${i}`);
    await world.clock.run(Promise.all(ids.map(create)));
    await world.pass(2_000);

    expect(leases.get('oldest')).toBeUndefined();
    expect(leases.get('l9999')?.state).toBe('ended');
    expect([...leases.values()]).toHaveLength(MOST_KEPT);
  });

  it('of another launcher is taken care of when that one does not, two seconds later', async () => {
    const { world, stop, lease, serve, launcher } = await leaseWorld();
    await lease();
    stop();
    const { leases: other } = await launcher('other');
    await serve();
    expect(other.get('l1')?.state).toBe('waiting');

    await world.pass(2_500);

    expect(other.get('l1')).toMatchObject({ state: 'active', keeper: 'other' });
  });

  it('of another launcher is taken care of as soon when the server that stamped its request has a clock that is ahead', async () => {
    const { world, stop, lease, serve, launcher } = await leaseWorld();
    const { clock } = world;
    await lease();
    stop();
    const { leases: other } = await launcher('other');
    clock.set(clock.now() + 300_000);
    await serve();
    clock.set(clock.now() - 300_000);

    await world.pass(5_000);

    expect(other.get('l1')).toMatchObject({ state: 'active', keeper: 'other' });
  });

  it.each(['active', 'waiting'])('that is %s ends and frees its number when its launcher is gone', async (state) => {
    const { world, stop, lease, serve, launcher, request } = await leaseWorld();
    await lease({ maxNodes: 1 });
    const ids = state === 'active' ? await serve() : [];
    stop();
    const { leases: other } = await launcher('other');
    if (ids[0]) await world.clock.run(world.other.delete(nodePath(ids[0])));
    else await world.clock.run(world.other.delete(requestPath(request().id)));

    await world.pass(20 * MINUTE_MS);

    expect(other.get('l1')).toMatchObject({ state: 'ended', slots: [] });
  });

  it('returns a node that another process had locked soon after that has unlocked it', async () => {
    const { world, leases, lease, serve, node } = await leaseWorld();
    await lease();
    const [id] = await serve();
    const lock = new ZkLock(world.other, nodeLockPath(id as NodeId), { clock: world.clock });
    await world.clock.run(lock.acquire());
    await world.pass(100);
    await world.clock.run(leases.end('l1', 'returned'));
    await world.pass(2_000);
    expect((await node(id))?.state).toBe('hold');

    await world.clock.run(lock.release());
    await world.pass(10_000);

    expect((await node(id))?.state).toBe('deleting');
  });

  it('that is over has no request, also if it ended at a launcher that had not seen the request', async () => {
    const { world, leases, lease, request } = await leaseWorld();
    await lease();
    const body = encodeRequest(request());
    await world.clock.run(leases.end('l1', 'returned'));

    await world.clock.run(world.other.create(requestCreatePath(200), body, { sequential: true }));
    await world.pass(5_000);

    expect(world.context.mirror.requests.size).toBe(0);
  });

  it('is active although the answer to its transaction was lost', async () => {
    const { world, leases, lease, serve } = await leaseWorld();
    await lease();
    world.loseAnswer((write) => write.startsWith('delete /nodepool/requests/'));
    await serve();
    await world.pass(10_000);

    expect(leases.get('l1')?.state).toBe('active');
    expect(world.breaks).toBe(1);
  });
});
