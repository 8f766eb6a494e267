import {
  decodeNode,
  encodeNode,
  encodeRequest,
  newNode,
  newRequest,
  nodePath,
  REQUESTS_ROOT,
  requestPath,
  withRequest,
  type NodeId,
  type RequestFields,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { rackConfig } from '../../../test/support/rack-world.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { MinReady } from './min-ready.js';

const label = { name: 'a', minReady: 1, maxReadyAgeMs: 0 };

async function standby() {
  const world = await ServiceWorld.open();
  const config = { ...rackConfig, labels: new Map([['a', label]]) };
  const minReady = new MinReady(world.services, {
    config: () => config,
    isActive: () => true,
    canLaunch: () => true,
    isFirst: () => true,
  });
  const session = world.zk.sessionId;
  const { requests } = world.services.mirror;
  return {
    world,
    minReady,
    only: (): RequestRecord => {
      const [request, ...more] = requests.values();
      if (!request || more.length > 0) throw new Error(`there are ${requests.size} requests`);
      return request;
    },
    /** Writes the request as the pool that serves it. */
    answer: async (request: RequestRecord, changes: RequestFields) => {
      const body = encodeRequest(withRequest(request, changes, world.clock.now()));
      await world.clock.run(world.other.setData(requestPath(request.id), body));
      await world.pass(100);
    },
    isGone: async (request: RequestRecord) =>
      (await world.clock.run(world.other.exists(requestPath(request.id)))) === undefined,
    ownerOf: async (id: NodeId) => {
      const { data, stat } = await world.clock.run(world.other.getData(nodePath(id)));
      return decodeNode(id, data, stat, world.clock.now())?.allocatedTo;
    },
    sameSession: () => world.zk.sessionId === session,
  };
}

describe('a standby node of another launcher', () => {
  it('is not missing while the mirror still reads that it was given free, and its request is gone', async () => {
    const { world, minReady, only, answer } = await standby();
    minReady.checkAll();
    await world.pass(100);
    await world.clock.run(world.other.delete(requestPath(only().id)));
    await world.clock.run(world.other.ensurePath(REQUESTS_ROOT));
    const fields = { labels: ['a'], requestor: 'NodePool:min-ready' };
    const body = encodeRequest(newRequest(fields, world.clock.now()));
    const path = await world.clock.run(world.other.create(`${REQUESTS_ROOT}/900-`, body, { sequential: true }));
    const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
    await world.pass(100);
    for (const request of world.services.mirror.requests.values()) {
      if (request.id !== id) await world.clock.run(world.other.delete(requestPath(request.id)));
    }
    await world.pass(100);
    const node = await world.createNode({ allocatedTo: id, externalId: 'x' });
    await answer(only(), { state: 'fulfilled', nodeIds: [node] });
    const free = encodeNode(newNode({ state: 'ready', labels: ['a'], provider: 'p', pool: 'main' }, world.clock.now()));

    await world.clock.run(
      Promise.all([world.other.setData(nodePath(node), free), world.other.delete(requestPath(id))]),
    );
    await world.pass(1_000);

    expect(world.services.mirror.standbyCount('a')).toBe(1);
    expect(world.services.mirror.requests.size).toBe(0);
  });
});

describe('a standby request', () => {
  it('hands its node over although the answer to its creation was lost', async () => {
    const { world, minReady, only, answer, isGone, ownerOf, sameSession } = await standby();
    world.loseAnswer((write) => write.startsWith(`create ${REQUESTS_ROOT}/`));
    minReady.checkAll();
    await world.pass(1_000);
    const request = only();
    const id = await world.createNode({ allocatedTo: request.id });

    await answer(request, { state: 'fulfilled', nodeIds: [id] });

    expect(await ownerOf(id)).toBeNull();
    expect(await isGone(request)).toBe(true);
    expect([world.breaks, sameSession()]).toEqual([1, true]);
    minReady.stop();
  });

  it.each(['failed', 'fulfilled'] as const)(
    'is removed in the end when it has %s and its deletion is lost',
    async (state) => {
      const { world, minReady, only, answer, isGone, sameSession } = await standby();
      minReady.checkAll();
      await world.pass(1_000);
      const request = only();
      world.zk.loseRequest((write) => write === `delete ${requestPath(request.id)}`);

      await answer(request, { state });
      await world.pass(10_000);

      expect(await isGone(request)).toBe(true);
      expect([world.breaks, sameSession()]).toEqual([1, true]);
      minReady.stop();
    },
  );
});
