import {
  encodeNode,
  isFree,
  nodeLockPath,
  nodePath,
  requestPath,
  systemClock,
  withNode,
  ZkLock,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { useSlot, userDataOf, useWorld, yamlOf } from '../test/world.js';

const world = useWorld();

/** Locks the node just before the next write of its record arrives. @returns whether that was refused */
function lockBeforeWrite(writer: ZooKeeper, id: NodeId, lock: ZkLock): Promise<boolean> {
  const multi = writer.multi.bind(writer);
  return new Promise((resolve) => {
    writer.multi = async (operations) => {
      if (!operations.some(({ op, path }) => op === 'set' && path === nodePath(id))) return multi(operations);
      writer.multi = multi;
      await lock.acquire();
      const written = multi(operations);
      void written.then(
        () => resolve(false),
        () => resolve(true),
      );
      return written;
    };
  });
}

describe('backing nodes', () => {
  it('are returned after grace-time, but never with a slot in use', async () => {
    await world.launcher(yamlOf({ label: 'grace-time: 0' }));
    const client = await world.client();
    const [one, two] = [await useSlot(client), await useSlot(client)];

    await client.giveBack(one.id);
    await client.until('the first slot is gone', () => client.nodes.get(one.id) === undefined);
    expect(client.backing()).toHaveLength(1);
    await client.giveBack(two.id);

    await client.until(
      'every machine is free',
      () => client.all().length === 4 && client.all().every((node) => node.state === 'ready'),
    );
  });

  it('are returned after grace-time although the clock is set back meanwhile', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    await world.launcher(yamlOf({ label: 'grace-time: 1' }), { clock });
    const client = await world.client();
    const slot = await useSlot(client);

    await client.giveBack(slot.id);
    await client.until('the slot is gone', () => client.nodes.get(slot.id) === undefined);
    aheadMs = -3_600_000;

    await client.until('the backing node is given back', () => client.backing().length === 0);
  });

  it('stay for min-retention-time', async () => {
    await world.launcher(yamlOf({ label: 'grace-time: 0, min-retention-time: 2' }));
    const client = await world.client();
    const slot = await useSlot(client);
    const launched = Number(/"launched": ([\d.]+)/.exec(userDataOf(client, client.backing()[0]?.id))?.[1]) * 1000;

    await client.giveBack(slot.id);
    await client.until('the backing node is given back', () => client.backing().length === 0);

    expect(Date.now() - launched).toBeGreaterThanOrEqual(2_000);
  });

  it('get no more jobs after max-age, and are returned when they are empty', async () => {
    await world.launcher(yamlOf({ label: 'grace-time: 600, max-age: 1' }));
    const client = await world.client();
    const slot = await useSlot(client);
    const [old] = client.backing();
    await new Promise((resolve) => setTimeout(resolve, 1_100)); // max-age is in whole seconds

    const other = await useSlot(client);
    await client.giveBack(slot.id);

    expect(other.driverData).not.toMatchObject({ backing_node: old?.id });
    await client.until('the old one goes', () => client.backing().every((node) => node.id !== old?.id));
  });

  it('that fail keep a free slot that another process locks at that moment, until it is unlocked', async () => {
    const { zk } = await world.launcher(yamlOf({ label: 'grace-time: 600' }));
    const client = await world.client();
    const request = await client.ended(await client.ask(['small']));
    await client.zk.delete(requestPath(request.id));
    const slot = await client.until('the slot is free', () => client.slots().find(isFree));
    const [backing] = client.backing();
    if (!backing) throw new Error('no backing node');
    await client.zk.delete(nodeLockPath(slot.id));
    const lock = new ZkLock(client.zk, nodeLockPath(slot.id), {});
    const isRefused = lockBeforeWrite(zk, slot.id, lock);

    const userData = userDataOf(client, backing.id).replace('"failed": false', '"failed": true');
    await client.zk.setData(nodePath(backing.id), encodeNode(withNode(backing, { userData }, Date.now())));

    expect(await isRefused).toBe(true);
    expect(client.nodes.get(slot.id)?.state).toBe('ready');
    await lock.release();
    await client.until('the slot is gone', () => client.nodes.get(slot.id) === undefined);
  });
});
