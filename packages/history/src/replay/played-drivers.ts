import { delay, encodeNode, newNode, NODE_CREATE_PATH, type NodeRecord, type Resources } from '@nodepool/zk-protocol';
import {
  LaunchError,
  type Config,
  type Driver,
  type LaunchOrder,
  type LaunchResult,
  type NodeRequestHandler,
  type PoolConfig,
  type PoolLabelConfig,
  type Provider,
  type ProviderConfig,
  type ProviderContext,
  type QuotaSupport,
} from '@nodepool/core';
import { DriverError } from '@nodepool/core/service';
import type { DriverRegistry } from '@nodepool/core/config';
import type { LaunchRecord } from './launch-record.js';

/** Reserved for documentation by RFC 5737. */
const ADDRESS = '192.0.2.1';
const NO_LABELS: ReadonlySet<string> = new Set();

/**
 * Wraps drivers so that their machines are simulated: launches follow the history, lent hosts follow the configuration.
 * A driver with the capability `recordsOnly` is used as it is.
 */
export function playedDrivers(drivers: ReadonlyMap<string, Driver>, record: LaunchRecord): DriverRegistry {
  const played = new Map([...drivers].map(([name, driver]) => [name, playedDriver(driver, record)]));
  return {
    get(name) {
      const driver = played.get(name);
      return driver ? Promise.resolve(driver) : Promise.reject(new DriverError(name, `driver "${name}" is not loaded`));
    },
    reset: () => Promise.resolve(),
    loaded: () => [],
  };
}

function playedDriver(driver: Driver, record: LaunchRecord): Driver {
  const { launches, recordsOnly } = driver.capabilities;
  const getProvider = (config: ProviderConfig, context: ProviderContext): Provider => {
    if (recordsOnly === true) return driver.getProvider(config, context);
    if (launches) return new PlayedCloud(config, context, record);
    return new PlayedHosts(config, context, slotsOf(driver, config), driver.getProvider(config, context));
  };
  // keeps the methods that a driver inherits from its class
  return Object.create(driver, { getProvider: { value: getProvider, enumerable: true } }) as Driver;
}

/** The nodes that a driver for existing hosts would register if none existed yet. */
function slotsOf(driver: Driver, config: ProviderConfig): PlayedSlots[] {
  return [...config.pools].flatMap(([pool, each]) => {
    const alone: ProviderConfig = { ...config, pools: new Map([[pool, each]]) };
    const { register = [] } = driver.previewChange?.(alone, [], []) ?? {};
    return register.map(({ what: host, labels, count }) => ({ pool, host, labels, count }));
  });
}

/** Disables scans of host keys, as simulated machines have no network. */
export function withoutKeyScans(config: Config): Config {
  return { ...config, providers: mapValues(config.providers, withoutKeyScan) };
}

function withoutKeyScan(config: ProviderConfig): ProviderConfig {
  const withoutScan = <Part extends PoolConfig | PoolLabelConfig>(part: Part): Part => ({
    ...part,
    hostKeyChecking: false,
  });
  const poolOf = (pool: PoolConfig) => ({ ...withoutScan(pool), labels: mapValues(pool.labels, withoutScan) });
  return { ...config, pools: mapValues(config.pools, poolOf) };
}

function mapValues<Value>(map: ReadonlyMap<string, Value>, change: (value: Value) => Value): Map<string, Value> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}

/** Simulates a cloud: launches and deletions take as long, and fail as often, as the recorded ones. */
class PlayedCloud implements Provider {
  readonly quota: QuotaSupport;
  readonly #record: LaunchRecord;
  readonly #context: ProviderContext;

  constructor(
    readonly config: ProviderConfig,
    context: ProviderContext,
    record: LaunchRecord,
  ) {
    this.#context = context;
    this.#record = record;
    const ceiling: Resources = record.ceilings.get(config.name) ?? {};
    this.quota = {
      quotaNeededByLabel: (label, pool) => record.needOf(config.name, pool.name, label),
      estimatedNodepoolQuota: () => ceiling,
      invalidateQuotaCache() {},
    };
  }

  async start(): Promise<void> {}
  idle(): void {}
  stop(): void {}
  async join(): Promise<void> {}
  async cleanupLeakedResources(): Promise<void> {}
  labelReady = () => true;
  errorLabels = () => NO_LABELS;

  getRequestHandler(): NodeRequestHandler {
    return { imagesAvailable: () => true, launch: (order, signal) => this.#launch(order, signal) };
  }

  startNodeCleanup(_node: NodeRecord, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    return delay(clock, this.#record.deletionMs(this.config.name, clock.now()), signal);
  }

  /** Never rejects. */
  async #launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    const { clock } = this.#context;
    const { label, request } = order;
    const how = this.#record.launch(this.config.name, label.name, request.eventId, clock.now());
    const { tookMs, isReady, attempts } = how;
    const externalId = `played-${order.node.id}`;
    const error = new LaunchError('status', 'it failed like this when it was recorded');
    try {
      for (let attempt = 1; ; attempt++) {
        order.created?.();
        await delay(clock, tookMs / attempts, signal);
        if (isReady && attempt === attempts) break;
        const isWanted = order.attemptFailed?.(error) ?? true;
        // the instance of a failed launch is deleted like any other
        if (!isWanted || attempt === attempts)
          return { state: 'failed', node: await order.store({ externalId }), error };
      }
      const node = await order.store({ state: 'ready', externalId, publicIpv4: ADDRESS, interfaceIp: ADDRESS });
      return { state: 'ready', node };
    } catch (cause) {
      return { state: 'failed', node: order.node, error: cause instanceof Error ? cause : new Error(String(cause)) };
    }
  }
}

/** Slots of one host in a pool. */
interface PlayedSlots {
  readonly pool: string;
  readonly host: string;
  readonly labels: readonly string[];
  readonly count: number;
}

/** Simulates existing hosts: each slot is a node that is ready again as soon as it is returned. */
class PlayedHosts implements Provider {
  readonly #context: ProviderContext;
  readonly #slots: readonly PlayedSlots[];
  readonly #real: Pick<Provider, 'labelCapacity' | 'canHold'>;

  /** @param real - decides which labels the pools can hold */
  constructor(
    readonly config: ProviderConfig,
    context: ProviderContext,
    slots: readonly PlayedSlots[],
    real: Pick<Provider, 'labelCapacity' | 'canHold'>,
  ) {
    this.#context = context;
    this.#slots = slots;
    this.#real = real;
  }

  async start(): Promise<void> {
    for (const { pool, host, labels, count } of this.#slots) {
      for (let slot = 0; slot < count; slot++)
        await this.#register(this.#slotNode({ pool, hostname: host, labels, slot }));
    }
  }

  idle(): void {}
  stop(): void {}
  async join(): Promise<void> {}
  async cleanupLeakedResources(): Promise<void> {}
  labelReady = (pool: string, label: string) => this.config.pools.get(pool)?.labels.has(label) === true;
  errorLabels = () => NO_LABELS;
  getRequestHandler = (): NodeRequestHandler => ({ imagesAvailable: () => true });
  startNodeCleanup = () => undefined;
  ownsResource = () => false;
  labelCapacity = (pool: string, label: string) => this.#real.labelCapacity?.(pool, label);
  canHold = (pool: string, labels: readonly string[]) => this.#real.canHold?.(pool, labels) ?? true;

  successorOf(node: NodeRecord): NodeRecord {
    return this.#slotNode(node);
  }

  #slotNode({ pool, hostname, labels, slot }: Pick<NodeRecord, 'pool' | 'hostname' | 'labels' | 'slot'>): NodeRecord {
    const { name: provider } = this.config;
    return newNode({ ...{ state: 'ready', provider, pool, hostname, labels, slot } }, this.#context.clock.now());
  }

  async #register(node: NodeRecord): Promise<void> {
    await this.#context.zk.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true });
  }
}
