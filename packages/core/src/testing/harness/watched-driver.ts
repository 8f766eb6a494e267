import type { Clock, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type {
  Driver,
  LaunchOrder,
  LaunchResult,
  NodeRequestHandler,
  Provider,
  ProviderContext,
} from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';

/** Result of a node launch. */
export interface WatchedLaunch {
  readonly node: NodeRecord;
  readonly result: LaunchResult | undefined;
  /** Reason of a rejection, which is a violation. */
  readonly rejection: unknown;
}

/** Observer of a driver. */
export interface DriverWatch {
  /** Clock of the driver. */
  readonly clock: Clock;
  /** Providers created by the driver. */
  readonly providers: Provider[];
  readonly launches: WatchedLaunch[];
  /** Errors of failed attempts, as reported by the driver, in order. */
  readonly attemptErrors: Error[];
  /** Number of ZooKeeper calls by the driver. */
  zkCalls: number;
  /** Awaited before each start of a provider. */
  beforeStart(): Promise<void>;
  /** Called at every point where a process could die. */
  moment(what: string): void;
}

/** Makes all members required, so that the wrapper cannot hide an optional member from the launcher. */
type Whole<T> = { [Member in keyof Required<T>]: T[Member] };

/** Wraps the driver and observes its calls and results. */
export function watchDriver(driver: Driver, watch: DriverWatch): Whole<Driver> {
  return {
    name: driver.name,
    apiVersion: driver.apiVersion,
    capabilities: driver.capabilities,
    schema: driver.schema,
    setup: driver.setup,
    reset: driver.reset?.bind(driver),
    checkAll: driver.checkAll?.bind(driver),
    previewChange: driver.previewChange?.bind(driver),
    missingRights: driver.missingRights?.bind(driver),
    getProviderConfig: (entry, context) => driver.getProviderConfig(entry, context),
    getProvider: (config: ProviderConfig, context: ProviderContext) => {
      const provider = driver.getProvider(config, watchedContext(context, watch));
      watch.providers.push(provider);
      return watchProvider(provider, watch);
    },
  };
}

function watchedContext(context: ProviderContext, watch: DriverWatch): ProviderContext {
  const { metrics } = context;
  return {
    ...context,
    clock: watch.clock,
    zk: countCalls(context.zk, () => watch.zkCalls++),
    metrics: {
      launchEnded: metrics?.launchEnded?.bind(metrics),
      transition: (_provider, { machine, from, to }) => watch.moment(`${machine}: ${from} -> ${to}`),
    },
  };
}

function countCalls<T extends object>(target: T, called: () => void): T {
  return new Proxy(target, {
    get(from, key) {
      const value = Reflect.get(from, key, from) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        called();
        return Reflect.apply(value, from, args) as unknown;
      };
    },
  });
}

function imagesOf(provider: Provider) {
  return {
    startImages: provider.startImages?.bind(provider),
    uploadImage: provider.uploadImage?.bind(provider),
    deleteImage: provider.deleteImage?.bind(provider),
    listImages: provider.listImages?.bind(provider),
  };
}

function watchProvider(provider: Provider, watch: DriverWatch): Whole<Provider> {
  return {
    ...imagesOf(provider),
    get config() {
      return provider.config;
    },
    get quota() {
      return provider.quota;
    },
    start: async (signal) => {
      await watch.beforeStart();
      await provider.start(signal);
    },
    refresh: () => provider.refresh?.(),
    idle: () => provider.idle(),
    stop: () => provider.stop(),
    join: () => provider.join(),
    labelReady: (pool, label) => provider.labelReady(pool, label),
    getRequestHandler: (pool: PoolConfig, request: RequestRecord) =>
      watchHandler(provider.getRequestHandler(pool, request), watch),
    startNodeCleanup: (node, signal) => provider.startNodeCleanup(node, signal),
    stopNode: provider.stopNode?.bind(provider),
    ownsResource: provider.ownsResource?.bind(provider),
    canHold: provider.canHold?.bind(provider),
    blockers: provider.blockers?.bind(provider),
    labelCapacity: provider.labelCapacity?.bind(provider),
    cleanupLeakedResources: (signal) => provider.cleanupLeakedResources(signal),
    unusableNodes: provider.unusableNodes?.bind(provider),
    leakedResources: provider.leakedResources?.bind(provider),
    conditions: provider.conditions?.bind(provider),
    hosts: provider.hosts?.bind(provider),
    alienResources: provider.alienResources?.bind(provider),
    errorLabels: () => provider.errorLabels(),
    listResources: provider.listResources?.bind(provider),
    tagResource: provider.tagResource?.bind(provider),
    nodeDeletedNotification: provider.nodeDeletedNotification?.bind(provider),
    successorOf: provider.successorOf?.bind(provider),
  };
}

function watchHandler(handler: NodeRequestHandler, watch: DriverWatch): Whole<NodeRequestHandler> {
  const launch = handler.launch?.bind(handler);
  return {
    imagesAvailable: () => handler.imagesAvailable(),
    launch: launch && ((order, signal) => watchLaunch(launch, order, signal, watch)),
    checkReusableNode: handler.checkReusableNode?.bind(handler),
    acceptsNode: handler.acceptsNode?.bind(handler),
    setNodeMetadata: handler.setNodeMetadata?.bind(handler),
    nodeReusedNotification: handler.nodeReusedNotification?.bind(handler),
    nodeRejectedNotification: handler.nodeRejectedNotification?.bind(handler),
  };
}

async function watchLaunch(
  launch: NonNullable<NodeRequestHandler['launch']>,
  order: LaunchOrder,
  signal: AbortSignal,
  watch: DriverWatch,
): Promise<LaunchResult> {
  const { node } = order;
  const store: LaunchOrder['store'] = (changes) => {
    watch.moment(`store ${Object.keys(changes).join(', ')}`);
    return order.store(changes);
  };
  const attemptFailed = (error: Error): boolean => {
    watch.attemptErrors.push(error);
    return order.attemptFailed?.(error) ?? true;
  };
  watch.moment('launch');
  try {
    const result = await launch({ ...order, store, ...(order.attemptFailed && { attemptFailed }) }, signal);
    watch.launches.push({ node, result, rejection: undefined });
    return result;
  } catch (rejection) {
    watch.launches.push({ node, result: undefined, rejection });
    throw rejection;
  }
}
