import { leasePath, nodePath, requestLockPath, requestPath, ZkLock, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { leaseWorld } from '../../../test/support/lease-world.js';
import { LeaseLimitError } from './lease-spec.js';

describe('the number of a lease among the nodes of its token', () => {
  /** Ends the only lease that its token may have. @returns tries to request another one */
  async function ended(state: 'waiting' | 'active') {
    const opened = await leaseWorld();
    const { leases, lease, serve, world } = opened;
    await lease({ maxNodes: 1 });
    const { id } = opened.request();
    const lock = new ZkLock(world.other, requestLockPath(id), { clock: world.clock });
    const node =
      state === 'active'
        ? (await serve())[0]
        : await world.clock.run(lock.acquire()).then(() => world.createNode({ state: 'building', allocatedTo: id }));
    await world.clock.run(leases.end('l1', 'returned'));
    await world.pass(1_000);
    const isFree = async () => {
      const next = lease({ id: 'l2', maxNodes: 1 });
      return next.then(
        () => true,
        (error: unknown) => !(error instanceof LeaseLimitError),
      );
    };
    const remove = async () => {
      await world.clock.run(world.other.delete(nodePath(node as NodeId)));
      await world.pass(1_000);
    };
    return { ...opened, lock, remove, isFree, node: node as NodeId };
  }

  it('is free when its node is gone, not when the lease has ended', async () => {
    const { leases, remove, isFree } = await ended('active');
    const before = [leases.get('l1')?.state, await isFree()];

    await remove();

    expect([before, await isFree()]).toEqual([['ended', false], true]);
  });

  it('is free when the launch that it caused is over, and the node of that is gone', async () => {
    const { leases, lock, world, remove, isFree } = await ended('waiting');
    const before = [leases.get('l1')?.state, await isFree()];

    await remove();
    const locked = await isFree(); // who has locked the request may be about to make another node
    await world.clock.run(lock.release());
    await world.pass(1_000);

    expect([before, locked, await isFree()]).toEqual([['ended', false], false, true]);
  });

  it('is not free while its request is there, though who ended it did not know of that', async () => {
    const { leases, lease, request, stop, world } = await leaseWorld();
    const { clock, other } = world;
    await lease({ maxNodes: 1 });
    stop();
    const path = leasePath('l1');
    const { data } = await clock.run(other.getData(path));
    const record = JSON.parse(data.toString()) as object;
    await clock.run(other.setData(path, JSON.stringify({ ...record, state: 'ended' })));
    const slots: unknown[] = [];
    for (const remove of [() => undefined, () => other.delete(requestPath(request().id))]) {
      await clock.run(Promise.resolve(remove()));
      await world.pass(100);
      await clock.run(leases.freeSlots('l1'));
      await world.pass(100);
      slots.push(leases.get('l1')?.slots);
    }

    expect(slots).toEqual([[0], []]);
  });

  it('is free when its node serves another request', async () => {
    const { lock, world, write, node, isFree } = await ended('waiting');
    await write(node, { state: 'ready', allocatedTo: null });
    await world.clock.run(lock.release());
    await world.pass(1_000);

    expect(await isFree()).toBe(true);
  });

  it.each(['active', 'waiting'] as const)('is not free while a node of it cannot be read (%s)', async (state) => {
    const { world, lock, node, remove, launcher, stop } = await ended(state);
    const { clock, other } = world;
    stop();
    if (state === 'waiting') await clock.run(lock.release());
    const { data } = await clock.run(other.getData(nodePath(node)));
    const spoiled = data.toString().replace('"provider":"p"', '"provider":7');
    expect(spoiled).not.toBe(data.toString());
    await clock.run(other.delete(nodePath(node)));
    await clock.run(other.create(nodePath(node), spoiled));
    const { leases, sweep } = await launcher('other');
    await world.pass(60_000);
    sweep();
    await world.pass(1_000);
    expect(leases.get('l1')?.slots).toHaveLength(1);

    await remove();
    sweep();
    await world.pass(1_000);

    expect(leases.get('l1')?.slots).toEqual([]);
  });

  it('is freed by another launcher when its own is gone', async () => {
    const { stop, launcher, remove, lock, world } = await ended('waiting');
    stop();
    const { leases: other } = await launcher('other');
    await world.clock.run(lock.release());
    await world.pass(60_000);
    expect(other.get('l1')?.slots).toHaveLength(1);

    await remove();
    await world.pass(60_000);

    expect(other.get('l1')?.slots).toEqual([]);
  });

  it('is said to be free soon while nodes of ended leases have it, unless an open lease has it', async () => {
    const { lease, remove } = await ended('active');
    const isSoonFree = (id: string, labels: string[], maxNodes: number) =>
      lease({ id, labels, maxNodes }).then(
        () => 'free',
        (error: unknown) => (error as LeaseLimitError).isSoonFree,
      );
    const whileDeleting = [await isSoonFree('l2', ['small'], 1), await isSoonFree('l3', ['small', 'small'], 1)];
    await lease({ id: 'l4', maxNodes: 2 });
    const beside = [await isSoonFree('l5', ['small'], 2), await isSoonFree('l6', ['small', 'small'], 2)];

    await remove();

    expect([whileDeleting, beside]).toEqual([
      [true, false],
      [true, false],
    ]);
    expect(await isSoonFree('l7', ['small'], 1)).toBe(false);
  });

  it('is free at once when nothing was made for the lease', async () => {
    const { leases, lease, world } = await leaseWorld();
    await lease({ maxNodes: 1 });

    await world.clock.run(leases.end('l1', 'returned'));
    await world.pass(100);

    expect(await lease({ id: 'l2', maxNodes: 1 })).toMatchObject({ id: 'l2' });
  });
});
