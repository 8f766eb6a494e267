import {
  controlPath,
  createControlCache,
  decodeNode,
  newControl,
  nodeLockPath,
  nodePath,
  storeControl,
  type NodeId,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { silentLogger } from '../../contract/logger.js';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import type { ServiceWorld } from '../../../test/support/service-world.js';
import { Reaper } from '../../launcher/nodes/reaper.js';
import { ControlMirror } from '../../launcher/state/controls.js';
import { holdOrders } from './index.js';

const HOUR_MS = 3_600_000;

async function readNode({ clock, other }: ServiceWorld, id: NodeId) {
  if (!(await clock.run(other.exists(nodePath(id))))) return undefined;
  const { data, stat } = await clock.run(other.getData(nodePath(id)));
  return decodeNode(id, data, stat, clock.now());
}

/** A launcher with a node that is in use and locked, and an order to hold it. */
async function busyNode(endsInMs: number | null = HOUR_MS) {
  const rooms = await LauncherRooms.open();
  const { world, providers, registry } = rooms;
  const { clock, other } = world;
  const id = await world.createNode({ state: 'in-use', externalId: 'i-1' });
  await clock.run(other.ensurePath(nodeLockPath(id)));
  const lock = await clock.run(other.create(`${nodeLockPath(id)}/lock__lock__`, '', { sequential: true }));
  const cache = createControlCache({ zk: world.zk, clock, logger: silentLogger });
  await clock.run(cache.start());
  const controls = new ControlMirror(cache, world.context);
  const context = { ...world.context, controls };
  const reaper = new Reaper(context, providers, registry.registered);
  const orders = holdOrders(rooms.engine({ context, reaper }));
  const orderHold = async (name: string) => {
    const endTimeMs = endsInMs === null ? null : clock.now() + endsInMs;
    const fields = { kind: 'node', name, mode: 'hold', owner: 'alice', reason: 'look at it', endTimeMs } as const;
    const order = newControl(fields, clock.now());
    await clock.run(storeControl(other, order));
    await world.pass(100);
    return order;
  };
  const order = await orderHold(id);
  const read = () => readNode(world, id);
  const release = async () => {
    await clock.run(other.delete(lock));
    await world.pass(1_000);
  };
  return {
    world,
    id,
    rooms,
    orders,
    controls,
    orderHold,
    read,
    release,
    hasOrder: () => clock.run(other.exists(controlPath(order))),
  };
}

it('holds a node when it is unlocked after its use, until the end of the order', async () => {
  const { read, release, hasOrder } = await busyNode();
  expect(await read()).toMatchObject({ state: 'in-use', comment: null });

  await release();

  const node = await read();
  expect(node).toMatchObject({ state: 'hold', comment: 'alice: look at it' });
  expect(HOUR_MS - (node?.holdExpirationMs ?? 0)).toBeLessThan(2_000);
  expect(await hasOrder()).toBeUndefined();
});

it('holds it without an end when the order has none', async () => {
  const { read, release } = await busyNode(null);

  await release();

  expect(await read()).toMatchObject({ state: 'hold', holdExpirationMs: null });
});

it('returns a node that is used longer than its order lasts, and removes the order', async () => {
  const { world, read, release, hasOrder, orders } = await busyNode(1_000);

  await world.pass(2_000);
  await release();

  expect(await read()).toBeUndefined();
  await world.pass(60_000);
  orders.reconsider?.('minute');
  await world.pass(100);
  expect(await hasOrder()).toBeUndefined();
});

it('holds no node that another process locks meanwhile', async () => {
  const { rooms, world, controls, orderHold } = await busyNode();
  const { clock, context } = world;
  const id = await world.createNode({ state: 'ready' });
  await orderHold(id);
  const node = context.mirror.nodes.get(id);
  if (!node) throw new Error('the mirror does not show the node');

  const claims: Parameters<Reaper['claimUsed']>[0][] = [];
  const claimUsed = (claim: (typeof claims)[0]) => claims.push(claim);
  const reaper = { ...rooms.engine().reaper, claimUsed };
  holdOrders(rooms.engine({ context: { ...world.lockedMeanwhile(id), controls }, reaper }));
  const hold = claims[0]?.(node) ?? expect.fail('the node is not claimed');

  const done = clock.run(hold());

  await expect(done).rejects.toMatchObject({ owner: 'lock' });
  await world.pass(100);
  expect(context.mirror.nodes.get(id)?.state).toBe('ready');
});

it('removes the order at once when its node goes', async () => {
  const { world, id, hasOrder } = await busyNode();

  await world.clock.run(world.other.deleteRecursive(nodePath(id)));
  await world.pass(100);

  expect(await hasOrder()).toBeUndefined();
});

it('removes an order for a node that it has never seen after a minute: the record may be shown later', async () => {
  const { world, orders } = await busyNode();
  const fields = { kind: 'node', name: '0000000099', mode: 'hold', owner: 'alice' } as const;
  const unknown = newControl(fields, world.clock.now());
  await world.clock.run(storeControl(world.other, unknown));
  const hasOrder = () => world.clock.run(world.other.exists(controlPath(unknown)));

  await world.pass(30_000);
  orders.reconsider?.('minute');
  await world.pass(100);
  expect(await hasOrder()).toBeDefined();
  await world.pass(60_000);
  orders.reconsider?.('minute');
  await world.pass(100);

  expect(await hasOrder()).toBeUndefined();
});
