import {
  decodeNode,
  nodePath,
  requestPath,
  REQUESTS_ROOT,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { isOwnRequest, releaseOwnRequest, removeOwnRequest, requestNode } from './own-requests.js';

/** A request for a node of label `a`, as the mirror shows it. */
async function setUp() {
  const world = await ServiceWorld.open();
  const { clock, other, context } = world;
  const id = await clock.run(requestNode(context, 'a', null));
  await world.pass(100);
  const read = (): RequestRecord => {
    const found = context.mirror.requests.get(id);
    if (!found) throw new Error('the mirror does not show the request');
    return found;
  };
  const exists = async () => (await clock.run(other.exists(requestPath(id)))) !== undefined;
  const make = async () => {
    const node = await world.createNode({ allocatedTo: id });
    const stored = async () => {
      const { data, stat } = await clock.run(other.getData(nodePath(node)));
      return decodeNode(node, data, stat, clock.now());
    };
    return { node, stored };
  };
  return { world, context, id, read, exists, make };
}

describe('a standby request', () => {
  it('comes after all others, and goes with the session', async () => {
    const { world, context, id, read, exists } = await setUp();

    expect(id).toMatch(/^900-/);
    expect(read()).toMatchObject({ labels: ['a'], requestor: 'NodePool:min-ready', provider: null, reuse: false });
    expect(isOwnRequest(context, read())).toBe(true);

    world.loseSession();
    await world.pass(60_000);
    expect(await exists()).toBe(false);
  });

  it.each([
    ['free', 'ready'],
    ['deleting', 'deleting'],
  ] as const)('hands its node over as %s, and is gone with that', async (fate, state) => {
    const { world, context, read, exists, make } = await setUp();
    const { node, stored } = await make();

    const isDone = await world.clock.run(releaseOwnRequest(context, { ...read(), nodeIds: [node] }, fate));

    expect([isDone, await exists()]).toEqual([true, false]);
    expect(await stored()).toMatchObject({ state, allocatedTo: null });
  });

  it('is removed without its node when that changes meanwhile', async () => {
    const { world, context, id, read, exists, make } = await setUp();
    const { node, stored } = await make();
    const { data } = await world.clock.run(world.other.getData(nodePath(node)));

    const changed = world.other.setData(nodePath(node), data);
    const isDone = await world.clock.run(releaseOwnRequest(context, { ...read(), nodeIds: [node] }));
    await world.clock.run(changed);

    expect([isDone, await exists()]).toEqual([false, false]);
    expect(await stored()).toMatchObject({ state: 'ready', allocatedTo: id });
  });

  it('is removed without its node when another process locks that meanwhile', async () => {
    const { world, id, read, exists, make } = await setUp();
    const { node, stored } = await make();

    const released = releaseOwnRequest(world.lockedMeanwhile(node), { ...read(), nodeIds: [node] }, 'deleting');

    expect([await world.clock.run(released), await exists()]).toEqual([false, false]);
    expect(await stored()).toMatchObject({ state: 'ready', allocatedTo: id });
  });

  it('is removed again and again until that has come through', async () => {
    const { world, context, id, read, exists } = await setUp();
    world.loseRequest((write) => write === `delete ${requestPath(id)}`);

    const removed = removeOwnRequest(context, read());
    await world.pass(5_000);
    await removed;

    expect([world.breaks, await exists()]).toEqual([1, false]);
  });

  it('stays when it was changed and is only to be removed unchanged', async () => {
    const { world, context, id, read, exists } = await setUp();
    const seen = read();
    const { data } = await world.clock.run(world.other.getData(requestPath(id)));
    await world.clock.run(world.other.setData(requestPath(id), data));

    expect(await world.clock.run(removeOwnRequest(context, seen, seen.stat?.version))).toBe(false);
    expect(await exists()).toBe(true);
    expect(
      await world.clock.run(
        removeOwnRequest(context, { ...seen, id: '900-0000000099' as RequestId }, seen.stat?.version),
      ),
    ).toBe(true);
    expect(await world.clock.run(world.other.getChildren(REQUESTS_ROOT))).toEqual([id]);
  });
});
