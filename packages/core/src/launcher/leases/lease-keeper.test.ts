import {
  encodeRequest,
  nodeLockPath,
  requestCreatePath,
  requestPath,
  withRequest,
  ZkLock,
  type NodeId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { leaseWorld, MINUTE_MS } from '../../../test/support/lease-world.js';
import { KEPT_MS } from './lease-keeper.js';

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
    const { leases, lease, serve, node, world } = await leaseWorld();
    await lease();
    const [id] = await serve();

    await world.pass(9 * MINUTE_MS);
    expect(leases.get('l1')?.state).toBe('active');
    await world.pass(2 * MINUTE_MS);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'it expired' });
    expect((await node(id))?.state).toBe('deleting');
    await world.pass(KEPT_MS + MINUTE_MS);
    expect(leases.get('l1')).toBeUndefined();
  });

  it('waits no longer than it is meant to', async () => {
    const { leases, lease, world } = await leaseWorld();
    await lease({ dueTimeMs: world.clock.now() + MINUTE_MS });

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

  it('ends when its request is cancelled', async () => {
    const { leases, lease, request, world } = await leaseWorld();
    await lease();
    await world.clock.run(world.other.delete(requestPath(request().id)));
    await world.pass(500);

    expect(leases.get('l1')).toMatchObject({ state: 'ended', endReason: 'its request was cancelled' });
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

  it('waits again when a node was lost before it was active', async () => {
    const { leases, lease, request, world } = await leaseWorld();
    await lease();
    const { id } = request();
    const lost = await world.createNode({ allocatedTo: null });
    const fulfilled = withRequest(request(), { state: 'fulfilled', nodeIds: [lost] }, world.clock.now());
    await world.clock.run(world.other.setData(requestPath(id), encodeRequest(fulfilled)));
    await world.pass(500);

    expect(leases.get('l1')?.state).toBe('waiting');
    expect(leases.requestOf('l1')).toMatchObject({ state: 'requested' });
    expect(request().id).not.toBe(id);
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

  it.each(['active', 'waiting'])('that is %s ends and frees its number when its launcher is gone', async (state) => {
    const { world, stop, lease, serve, launcher, request, write } = await leaseWorld();
    await lease({ maxNodes: 1 });
    const ids = state === 'active' ? await serve() : [];
    stop();
    const { leases: other } = await launcher('other');
    if (ids[0]) await write(ids[0], { state: 'deleting' });
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
