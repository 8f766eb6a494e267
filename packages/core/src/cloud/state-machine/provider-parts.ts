import type { ProviderContext } from '../../contract/driver.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { NEVER_ABORTED } from '../../async/never-aborted.js';
import { scanHostKeys } from '../key-scan/scan-host-keys.js';
import { ScanQueue } from '../../async/scan-queue.js';
import { UnreadableEntries } from '../operations/unreadable-entries.js';
import { InstanceList } from '../operations/instance-list.js';
import { LeakFinder } from '../ownership/leak-finder.js';
import type { TaskManager } from '../task-manager/task-manager.js';
import { LabelNeeds } from './label-needs.js';
import type { LaunchServices } from './launch-work.js';
import { ProviderQuota } from './quota.js';
import { LabelReadiness } from './label-readiness.js';
import { AddressClaims } from './shared-address.js';
import type { Adapter, AdapterContext, StateMachineProviderConfig } from './types.js';
import { MachineWatch } from './machine-watch.js';
import { UncertainOrders } from './uncertain-orders.js';
import { Zones } from './zones.js';

/** Parts that may be replaced. */
export interface StateMachineProviderParts {
  /** Limit of the key scan. Default: the boot timeout. */
  readonly keyScanTimeoutMs?: number;
  /** Reads host keys. Default: over the network. */
  readonly scan?: typeof scanHostKeys;
}

/** What a provider knows of its cloud besides the instances. */
export interface ProviderParts {
  readonly needs: LabelNeeds;
  readonly zones: Zones;
  readonly readiness: LabelReadiness;
  readonly quota: ProviderQuota;
  readonly leaks: LeakFinder;
  readonly machines: MachineWatch;
}

/** Makes what a provider knows of its cloud; nothing is read yet. */
export function makeParts(
  config: StateMachineProviderConfig,
  context: ProviderContext,
  adapter: Adapter,
  instances: InstanceList,
  entries: UnreadableEntries,
): ProviderParts {
  const { clock, metrics, images, nodes, zk } = context;
  const logger = context.logger.child({}, LOGGER_NAMES.stateMachine(config.name));
  const random = () => context.random();
  const changed = () => context.capacityChanged();
  const shared = { config, adapter, clock, logger, random, changed };
  const needs = new LabelNeeds(shared);
  const zones = new Zones({ ...shared, avoids: (zone, label) => context.avoidsZone?.(zone, label) ?? false });
  const readiness = new LabelReadiness({ ...shared, images });
  const quota = new ProviderQuota({
    ...shared,
    provider: config.name,
    get databaseId() {
      return context.databaseId;
    },
    instances,
    needs,
    settled: () => zones.settled,
    nodes,
    ownNodes: () => context.ownNodes(),
  });
  const leaks = new LeakFinder({
    ...{ provider: config.name, adapter, nodes, images, zk, clock, logger, metrics, entries },
    get databaseId() {
      return context.databaseId;
    },
    deleted: ({ id }) => quota.leakDeleted(id),
  });
  const machines = new MachineWatch({ context, clock, logger, instances, adapter, entries });
  return { needs, zones, readiness, quota, leaks, machines };
}

/** What launches and deletions of a provider work with. */
export function makeServices(
  config: StateMachineProviderConfig,
  context: ProviderContext,
  adapter: Adapter,
  instances: InstanceList,
  unanswered: LaunchServices['unanswered'],
  parts: StateMachineProviderParts,
): LaunchServices {
  const { clock, metrics, images, agreedNow, madeMs } = context;
  return {
    config,
    adapter,
    get databaseId() {
      return context.databaseId;
    },
    ...{ agreedNow, madeMs },
    instances,
    images,
    addresses: new AddressClaims(() => context.ownNodes()),
    scans: new ScanQueue(),
    scan: parts.scan ?? scanHostKeys,
    keyScanTimeoutMs: parts.keyScanTimeoutMs ?? config.bootTimeoutMs,
    clock,
    metrics,
    unanswered,
    uncertain: new UncertainOrders(clock),
    random: () => context.random(),
  };
}

/** The adapter gets the shared list, and the list asks the adapter: neither may be used before both are there. */
export function makeAdapter(
  context: ProviderContext,
  tasks: TaskManager,
  getAdapter: (context: AdapterContext) => Adapter,
): { adapter: Adapter; instances: InstanceList; entries: UnreadableEntries } {
  const { clock, logger } = context;
  const random = () => context.random();
  const entries = new UnreadableEntries(tasks.name, context);
  const made: { list?: InstanceList } = {};
  const instances = (): InstanceList => {
    if (!made.list) throw new Error('the list of instances cannot be used while the adapter is being made');
    return made.list;
  };
  const adapter = getAdapter({
    ...context,
    get databaseId() {
      return context.databaseId; // another one, when ZooKeeper serves another database
    },
    config: () => context.config(),
    ownNodes: () => context.ownNodes(),
    capacityChanged: (pool) => context.capacityChanged(pool),
    random,
    tasks,
    entries,
    instances: {
      find: (externalId) => instances().find(externalId, instances().mark(), NEVER_ABORTED),
      list: () => instances().list(instances().mark(), NEVER_ABORTED),
    },
  });
  made.list = new InstanceList({
    ...{ source: adapter, clock, logger, random, entries },
    onRead: (ageMs, error) => {
      context.metrics?.instanceListAge?.(tasks.name, ageMs);
      context.apiAnswered?.(error);
    },
  });
  return { adapter, instances: made.list, entries };
}
