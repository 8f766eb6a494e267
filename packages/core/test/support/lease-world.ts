import {
  createCommitter,
  createLeaseCache,
  createLeaseTokenCache,
  decodeNode,
  encodeNode,
  encodeRequest,
  LEASES_ROOT,
  leaseSlotsPath,
  nodePath,
  requestPath,
  withNode,
  withRequest,
  type Clock,
  type NodeCache,
  type NodeId,
  type RequestCache,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { ProviderSet } from '../../src/launcher/providers/provider-set.js';
import { ServiceWorld } from './service-world.js';
import { LeaseKeeper } from '../../src/features/leases/lease-keeper.js';
import type { LeaseSpec } from '../../src/features/leases/lease-spec.js';
import { Leases } from '../../src/features/leases/leases.js';
import { LifeCycle } from '../../src/launcher/state/life-cycle.js';
import { ServerClock } from '../../src/launcher/state/server-clock.js';

/** Milliseconds. */
export const MINUTE_MS = 60_000;
/** A lease to request. */
export const spec: LeaseSpec = {
  ...{ id: 'l1', owner: 'alice', token: 'alice', labels: ['a'], ttlMs: 10 * MINUTE_MS, digest: 'd' },
  ...{ maxNodes: null, tokenVersion: undefined, giveUpMs: null },
};

/**
 * Leases of one launcher in a {@link ServiceWorld}; the test plays the pools.
 * In one piece: each function needs the world.
 */
export async function leaseWorld() {
  const world = await ServiceWorld.open();
  const { clock, other, zk } = world;
  await clock.run(Promise.all([LEASES_ROOT, leaseSlotsPath('alice')].map((path) => other.ensurePath(path))));
  const { nodes, requests } = world.context.mirror;
  const unusable: ReturnType<ProviderSet['unusableNodes']> = [];
  /**
   * A launcher with its own cache; all share the session.
   * @param aheadMs - how far its own clock is ahead of the server's
   */
  const launcher = async (keeper: string, aheadMs = 0) => {
    const cache = createLeaseCache({ zk, clock, logger: world.context.logger });
    const committer = createCommitter(zk, [nodes as NodeCache, requests as RequestCache, cache]);
    const own: Clock = {
      now: () => clock.now() + aheadMs,
      steadyNow: () => clock.steadyNow(),
      setTimer: (ms, fn) => clock.setTimer(ms, fn),
    };
    const serverClock = new ServerClock(zk, own);
    await clock.run(serverClock.measure(world.context.life.signal));
    const life = new LifeCycle(zk, [nodes, requests], clock);
    life.isStarted = true;
    const context = { ...world.context, committer, clock: serverClock, life };
    const tokens = createLeaseTokenCache({ zk, clock, logger: context.logger });
    const leases = new Leases(context, cache, tokens, keeper, { unusableNodes: () => unusable });
    const leaseKeeper = new LeaseKeeper(context, leases);
    await clock.run(Promise.all([cache.start(), tokens.start()]));
    const stop = () => {
      life.stop();
      leaseKeeper.stop();
    };
    return { leases, cache, sweep: () => leaseKeeper.reconsider(), stop };
  };
  const { leases, cache, sweep, stop } = await launcher('me');
  const request = (): RequestRecord => {
    const [first] = requests.values();
    if (!first) throw new Error('there is no request');
    return first;
  };
  return {
    ...{ world, leases, cache, sweep, stop, launcher, request, unusable },
    lease: async (changes: Partial<LeaseSpec> = {}) => clock.run(leases.request({ ...spec, ...changes })),
    /** Serves the request as a pool does. */
    serve: async (count = 1) => {
      const { id } = request();
      const ids: NodeId[] = [];
      for (let i = 0; i < count; i++) ids.push(await world.createNode({ allocatedTo: id, externalId: `x${i}` }));
      const fulfilled = withRequest(request(), { state: 'fulfilled', nodeIds: ids }, clock.now());
      await clock.run(other.setData(requestPath(id), encodeRequest(fulfilled)));
      await world.pass(100);
      return ids;
    },
    node: async (id: NodeId | undefined) => {
      if (!id) throw new Error('there is no node');
      const { data, stat } = await clock.run(other.getData(nodePath(id)));
      return decodeNode(id, data, stat, clock.now());
    },
    write: async (id: NodeId, changes: Parameters<typeof withNode>[1]) => {
      const { data, stat } = await clock.run(other.getData(nodePath(id)));
      const node = decodeNode(id, data, stat, clock.now());
      if (node) await clock.run(other.setData(nodePath(id), encodeNode(withNode(node, changes, clock.now()))));
      await world.pass(100);
    },
  };
}
