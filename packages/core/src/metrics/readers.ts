import type { Condition } from '../contract/condition.js';
import type { ProviderConfig } from '../contract/provider-config.js';
import type { Reader, Readers, Sample } from './exposition.js';
import type { Follower } from './follower.js';
import type { StateCounts } from './node-counts.js';
import type { CacheQueues, ObservedLauncher, ProcessUsage } from './types.js';

/** Data sources of the readers. */
export interface ReaderSources {
  /** `undefined` while no launcher is attached. */
  readonly follower: () => Follower | undefined;
  readonly version: string;
  /** Number of lost datagrams; `undefined` without statsd. */
  readonly statsdDropped: () => number | undefined;
  /** Resource usage of the process at the start of this exposition. */
  readonly usage: () => ProcessUsage | undefined;
  /** Active conditions of the service. */
  readonly conditions: () => readonly Condition[];
}

/** Creates the readers of all metrics that do not count events. */
export function createReaders(sources: ReaderSources): Readers {
  return { ...installationReaders(sources), ...launcherReaders(sources), ...processReaders(sources) };
}

function installationReaders({ follower }: ReaderSources): Readers {
  const states = (counts: StateCounts, more: Readonly<Record<string, string>> = {}): Sample[] =>
    [...counts.states()].map((state) => [{ ...more, state }, counts.of(state)] as const);
  const of =
    (read: (followed: Follower) => Iterable<Sample>): Reader =>
    () => {
      const followed = follower();
      return followed ? read(followed) : [];
    };
  return {
    nodes: of(({ installation }) => states(installation.nodes.all)),
    labelNodes: of(({ installation }) =>
      [...installation.labels()].flatMap((label) => states(installation.nodes.labels.of(label), { label })),
    ),
    providerNodes: of(({ installation }) =>
      [...installation.providers()].flatMap((name) =>
        states(installation.nodes.providers.of(name), { provider: name }),
      ),
    ),
    addressableRequests: of(({ installation }) =>
      installation
        .pools()
        .map(({ provider, pool, labels }) => [{ provider, pool }, installation.requests.addressable(labels)] as const),
    ),
    nodeSeconds: of(({ nodeSeconds }) => nodeSeconds.samples('nodes')),
    coreSeconds: of(({ nodeSeconds }) => nodeSeconds.samples('cores')),
    ramSeconds: of(({ nodeSeconds }) => nodeSeconds.samples('ram')),
    cost: of(({ nodeSeconds }) => nodeSeconds.samples('cost')),
    requests: of(({ installation }) =>
      [...installation.requests.byState()].map(([state, n]) => [{ state }, n] as const),
    ),
    operatorOrders: of(({ launcher }) =>
      (launcher.controls?.() ?? []).map(({ kind, name, mode }) => [{ kind, name, mode }, 1] as const),
    ),
    leader: of(({ leading }) => one(leading ? 1 : 0)),
  };
}

function launcherReaders({ follower, version, statsdDropped, conditions }: ReaderSources): Readers {
  const of =
    (read: (launcher: ObservedLauncher) => Iterable<Sample>): Reader =>
    () => {
      const launcher = follower()?.launcher;
      return launcher ? read(launcher) : [];
    };
  const caches = (read: (queues: CacheQueues) => number): Reader => {
    return () => (follower()?.caches() ?? []).map(([cache, queues]) => [{ cache }, read(queues)] as const);
  };
  return {
    maxServers: of((launcher) =>
      [...launcher.config().providers].map(([provider, config]) => [{ provider }, maxServersOf(config)] as const),
    ),
    tenantLimit: of((launcher) => tenantLimits(launcher)),
    poolRequests: of((launcher) => poolRequests(launcher)),
    failingDeletions: of((launcher) => one(launcher.failingDeletions())),
    providerFailing: of((launcher) => {
      const failing = new Set(launcher.failingProviders());
      return [...launcher.config().providers.keys()].map((provider) => [{ provider }, failing.has(provider) ? 1 : 0]);
    }),
    launchLimit: of((launcher) => launchLimits(launcher)),
    connectionQueue: of(({ zk }) => one(zk.counters.pending)),
    eventQueue: caches(({ eventQueue }) => eventQueue),
    playbackQueue: caches(({ playbackQueue }) => playbackQueue),
    zooKeeperConnected: of(({ zk }) => one(zk.state === 'CONNECTED' ? 1 : 0)),
    zooKeeperRequests: of(({ zk }) => one(zk.counters.requests)),
    zooKeeperOperations: of(({ zk }) => one(zk.counters.operations)),
    zooKeeperEvents: of(({ zk }) => one(zk.counters.events)),
    statsdDropped: () => one(statsdDropped()),
    conditions: () =>
      conditions().map(
        ({ kind, name, type, reason, severity }) => [{ kind, name, type, reason, severity }, 1] as const,
      ),
    buildInfo: () => [[{ version }, 1]],
  };
}

function processReaders({ usage }: ReaderSources): Readers {
  const of =
    (read: (used: ProcessUsage) => number | undefined): Reader =>
    () => {
      const used = usage();
      return used ? one(read(used)) : [];
    };
  return {
    processStart: of((used) => used.startTimeSeconds),
    processUserCpu: of((used) => used.cpuUserSeconds),
    processSystemCpu: of((used) => used.cpuSystemSeconds),
    processCpu: of((used) => used.cpuUserSeconds + used.cpuSystemSeconds),
    processResident: of((used) => used.residentBytes),
    processOpenFiles: of((used) => used.openFiles),
    heapUsed: of((used) => used.heapUsedBytes),
    heapTotal: of((used) => used.heapTotalBytes),
    eventLoop: of((used) => used.eventLoopUtilization),
  };
}

function one(value: number | undefined): Sample[] {
  return value === undefined ? [] : [[{}, value]];
}

/** Sum over the pools; `Infinity` when one has no limit. Disabled pools count as 0. */
function maxServersOf(provider: ProviderConfig): number {
  let sum = 0;
  for (const { maxServers } of provider.pools.values()) sum += Math.max(0, maxServers);
  return sum;
}

function* tenantLimits(launcher: ObservedLauncher): Generator<Sample> {
  for (const [tenant, limits] of launcher.config().tenantLimits) {
    for (const [resource, limit] of Object.entries(limits)) yield [{ tenant, resource }, limit];
  }
}

/** Launch limits by provider; the pools of a provider share one limit. */
function launchLimits(launcher: ObservedLauncher): Sample[] {
  const limits = new Map(launcher.pools().map(({ provider, launchLimit }) => [provider, launchLimit] as const));
  return [...limits].flatMap(([provider, limit]) => (limit === undefined ? [] : [[{ provider }, limit] as const]));
}

function* poolRequests(launcher: ObservedLauncher): Generator<Sample> {
  for (const { provider, pool, handling, waiting, paused } of launcher.pools()) {
    yield [{ provider, pool, state: 'handling' }, handling];
    yield [{ provider, pool, state: 'waiting' }, waiting];
    yield [{ provider, pool, state: 'paused' }, paused];
  }
}
