import {
  encodeNode,
  newRequest,
  nodePath,
  withNode,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { QuotaSupport } from '../../src/contract/driver.js';
import type { Launch } from '../../src/launcher/state/events.js';
import { launchingDrivers, LauncherRooms } from './launcher-rooms.js';
import { configOf } from './serving-config.js';
import { poolConfig } from './pool-config.js';

/** Id of the request. */
export const ID = '200-0000000001' as RequestId;
/** Resources that a node needs. */
export const NEED = { instances: 1, cores: 4, ports: 3 };
/** Resources stored in the node record. */
export const STORED = { instances: 1, cores: 4 };
const config = configOf(poolConfig('main', ['a', 'b']), poolConfig('other', ['a']));

/** In one piece: creates a ledger with pools `main` and `other` of provider `p`, whose nodes need a port each, and records its events. */
export async function openLedger() {
  const need = { now: NEED };
  const quota: QuotaSupport = {
    quotaNeededByLabel: () => need.now,
    estimatedNodepoolQuota: () => ({}),
    invalidateQuotaCache: () => undefined,
  };
  const rooms = await LauncherRooms.open(config, launchingDrivers({ quota }));
  const { world, ledger, providers } = rooms;
  const { events } = world.context;
  const told: string[] = [];
  events.on('tenantCapacityFreed', ({ tenant }) => told.push(`tenant ${tenant}`));
  events.on('labelCapacityFreed', ({ label }) => told.push(`label ${label}`));
  const runner = () => {
    const found = providers.get('p');
    if (!found) throw new Error('there is no provider');
    return found;
  };
  return {
    ...{ rooms, world, ledger, events, need },
    /** Events since the last call. */
    told: () => told.splice(0),
    /** Usage of provider `p` and of its pool `main`. */
    used: () => [ledger.usedByProvider(runner()), ledger.usedByPool(runner(), 'main')],
    /** Creates a node for the request of tenant `t`, like a launch. */
    create: (fields: NodeFields = {}) =>
      world.createNode({ state: 'init', tenantName: 't', allocatedTo: ID, resources: STORED, ...fields }),
    change: async (id: NodeId, changes: Partial<NodeRecord>) => {
      const node = world.context.mirror.nodes.get(id);
      if (!node) throw new Error('there is no such node');
      await world.clock.run(world.other.setData(nodePath(id), encodeNode(withNode(node, changes, world.clock.now()))));
      await world.pass(100);
    },
    remove: async (id: NodeId) => {
      await world.clock.run(world.other.delete(nodePath(id)));
      await world.pass(100);
    },
    /** Starts work of a pool on the request. */
    begin: (...labels: string[]) =>
      ledger.begin(
        { ...newRequest({ labels, tenantName: 't' }, 0), id: ID },
        labels.map(() => need.now),
      ),
    launch: (label = 'a', pool = 'main'): Launch => {
      const launch = { provider: 'p', pool, label, request: ID, need: need.now };
      events.emit('launchBegun', { launch });
      return launch;
    },
    end: (launch: Launch) => events.emit('launchEnded', { launch, state: 'failed' }),
  };
}
