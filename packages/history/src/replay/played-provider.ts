import { delay, encodeNode, newNode, NODE_CREATE_PATH, type NodeRecord, type Resources } from '@nodepool/zk-protocol';
import {
  LaunchError,
  type LaunchOrder,
  type LaunchResult,
  type NodeRequestHandler,
  type Provider,
  type ProviderConfig,
  type ProviderContext,
  type QuotaSupport,
} from '@nodepool/core';
import type { LaunchRecord } from './launch-record.js';

/** An address nobody has: see RFC 5737. */
const ADDRESS = '192.0.2.1';
const NO_LABELS: ReadonlySet<string> = new Set();

/** A provider whose cloud is played: its launches and deletions take as long, and fail as often, as those on record. */
export class PlayedCloud implements Provider {
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
        // what a failed launch leaves is deleted like any other instance
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

/** Slots of one host of a pool. */
export interface PlayedSlots {
  readonly pool: string;
  readonly host: string;
  readonly labels: readonly string[];
  readonly count: number;
}

/** A provider of machines that are there: each slot is a node that comes back as soon as it is returned. */
export class PlayedHosts implements Provider {
  readonly #context: ProviderContext;
  readonly #slots: readonly PlayedSlots[];
  readonly #real: Pick<Provider, 'labelCapacity' | 'canHold'>;

  /** @param real - says what the pools can hold */
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
