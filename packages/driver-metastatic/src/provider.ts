import { setMaxListeners } from 'node:events';
import { delay } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { LaunchError } from '@nodepool/core';
import { scanHostKeys } from '@nodepool/core/ssh';
import type { FoundCondition, LaunchOrder, LaunchResult, Provider, ProviderContext } from '@nodepool/core';
import { Allocator } from './allocator.js';
import type { BackingNode } from './backing-node.js';
import { BackingRequestOutcomes } from './backing-request-outcomes.js';
import { BackingRequests } from './backing-requests.js';
import { SlotIndex } from './slot-index.js';
import { chainOf, isCircular } from './chain.js';
import { isMetastaticLabel, settingsOf } from './config.js';
import type { MetastaticLabelConfig, MetastaticProviderConfig } from './config.js';
import { MetastaticRequestHandler } from './handler.js';
import { KeyScans } from './key-scans.js';
import type { KeyScanner } from './key-scans.js';
import { BackingNodeReturns } from './backing-node-returns.js';
import { launchSlot } from './launch.js';
import { BackingRequestIndex } from './backing-request-index.js';
import { identityOf, placeOf } from './user-data.js';

const NO_LABELS: ReadonlySet<string> = new Set();
const DISMANTLE_RETRY_MS = 250;
/** Attempts of a removed provider to return its backing nodes during a ZooKeeper outage. */
const DISMANTLE_ATTEMPTS = 40;

/**
 * Assigns slots on nodes that it requests from Nodepool itself. All state is in the records, so several launchers can
 * serve one provider, and a new launcher continues where another stopped.
 */
export class MetastaticProvider implements Provider {
  readonly config: MetastaticProviderConfig;
  readonly #context: ProviderContext;
  readonly #owner: string;
  readonly #slots: SlotIndex;
  readonly #requests: BackingRequestIndex;
  readonly #allocator: Allocator;
  readonly #backingRequests: BackingRequests;
  readonly #returns: BackingNodeReturns;
  readonly #scans: KeyScans;
  readonly #outcomes: BackingRequestOutcomes;
  readonly #launching = new Set<Promise<LaunchResult>>();
  readonly #stop = new AbortController();
  #unsubscribe: (() => void) | undefined;
  #isIdle = false;
  #isStopped = false;
  /** The provider was removed from the configuration and drains until its last slot is returned. */
  #isRemoved = false;

  /** @param scan - reads host keys; default: over the network */
  constructor(config: MetastaticProviderConfig, context: ProviderContext, scan: KeyScanner = scanHostKeys) {
    this.config = config;
    this.#context = context;
    setMaxListeners(0, this.#stop.signal); // one listener for each pending take-over
    this.#owner = identityOf(config.name);
    const returns = new BackingNodeReturns({
      ...{ context, owner: this.#owner },
      settingsOf: (label) => (this.#isRemoved ? undefined : settingsOf(config, label)),
      slots: () => this.#slots,
      isOurs: (id) => this.#outcomes.hasTaken(id),
    });
    this.#returns = returns;
    this.#slots = new SlotIndex(context, config.name, this.#owner, {
      labelChanged: (label) => this.#allocator.schedule(label),
      backingChanged: (backing) => returns.check(backing),
      backingLost: (id) => this.#lost(id),
    });
    this.#scans = new KeyScans({
      ...{ context, scan, timeoutMs: config.bootTimeoutMs },
      failed: (backing) => returns.fail(backing),
    });
    this.#allocator = new Allocator(context, this.#slots, {
      scanKeys: (claim, backing) => this.#scans.read(claim, backing),
      served: (label) => this.#backingRequests.check(label),
    });
    this.#requests = new BackingRequestIndex(context, this.#owner, (backingLabel) => labelFor(config, backingLabel), {
      labelChanged: (label) => this.#allocator.schedule(label),
      fulfilled: (request, label) => {
        if (!this.#isRemoved) this.#outcomes.fulfilled(request, label);
      },
      failed: (request, label) => void this.#outcomes.failed(request, label),
      gone: (id) => this.#outcomes.gone(id),
    });
    const parts = { slots: this.#slots, requests: this.#requests, allocator: this.#allocator };
    const shared = { context, config, owner: this.#owner, ...parts };
    this.#backingRequests = new BackingRequests(shared);
    this.#outcomes = new BackingRequestOutcomes({ ...shared, signal: this.#stop.signal });
  }

  start(): Promise<void> {
    const { closing } = this.#context;
    this.#requests.open();
    this.#slots.open();
    this.#unsubscribe = this.#context.onNodeUnusable?.((id, why) => this.#machineLost(id, why));
    if (closing?.aborted) this.#close();
    else closing?.addEventListener('abort', () => this.#close(), { once: true });
    return Promise.resolve();
  }

  idle(): void {
    if (this.#isIdle) return;
    this.#isIdle = true;
    if (this.#isRemoved) return;
    this.#returns.stop();
    this.#endWhenUnused();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#isIdle = true;
    // Configured again: do not withdraw the backing requests of the successor.
    if (this.#isRemoved && this.#isConfigured) this.#backingRequests.stop();
    this.#isRemoved = !this.#isConfigured;
    this.#returns.stop();
    this.#endWhenUnused();
  }

  async join(): Promise<void> {
    await Promise.all(this.#launching);
    await Promise.all([this.#allocator.settled(), this.#returns.settled(), this.#backingRequests.settled()]);
    if (this.#isRemoved) await this.#dismantle();
    await this.#outcomes.settled();
  }

  labelReady(pool: string, label: string): boolean {
    return this.config.pools.get(pool)?.labels.has(label) ?? false;
  }

  getRequestHandler(): MetastaticRequestHandler {
    return new MetastaticRequestHandler({
      launch: (order, signal) => this.#launch(order, signal),
      isUsable: (node) => {
        const backing = this.#backingOf(node);
        return backing?.ownership === 'ours' && !backing.isFailed && !backing.data.failed;
      },
      rejected: (node) => this.#rejected(node),
    });
  }

  /** A slot owns no resource: its external id is the node's own id, and the backing node stays. */
  ownsResource(): boolean {
    return false;
  }

  /** The slot is free as soon as the record is deleted. */
  startNodeCleanup(): undefined {
    return undefined;
  }

  async cleanupLeakedResources(): Promise<void> {
    if (this.#isIdle) return;
    this.#slots.recheck();
    this.#requests.recheck();
    this.#returns.sweep();
    for (const label of this.#slots.labels()) this.#allocator.schedule(label);
    await this.#returns.settled();
  }

  errorLabels(): ReadonlySet<string> {
    return NO_LABELS;
  }

  conditions(): readonly FoundCondition[] {
    return this.#outcomes.conditions();
  }

  #launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    const { label } = order;
    if (!isMetastaticLabel(label)) {
      const error = new TypeError(`label "${label.name}" is not configured for driver "metastatic"`);
      return Promise.resolve({ state: 'failed', node: order.node, error });
    }
    const { config } = this;
    const { zk, clock, logger, metrics } = this.#context;
    if (isCircular(order.request, this.#owner, label.name)) {
      const chain = chainOf(order.request);
      const error = circular(label, chain);
      logger.error('Refused a circular backing request', { nodeId: order.node.id, chain, error });
      return Promise.resolve({ state: 'failed', node: order.node, error });
    }
    const services = { config, allocator: this.#allocator, zk, clock, logger, metrics };
    const launch = launchSlot(services, order, label, signal).finally(() => {
      this.#launching.delete(launch);
      this.#endWhenUnused();
    });
    this.#launching.add(launch);
    return launch;
  }

  get #isConfigured(): boolean {
    return this.#context.config().providers.has(this.config.name);
  }

  /** The provider gets no more requests. */
  #close(): void {
    this.#isRemoved = !this.#isConfigured;
    this.#backingRequests.close(this.#isRemoved ? 'removal' : 'stop');
    if (this.#isRemoved) this.#returns.checkAll();
  }

  /**
   * A replaced provider continues until its launches have ended: their requests are handled by it. A removed provider
   * stops once it has returned its backing nodes.
   */
  #endWhenUnused(): void {
    if (this.#isIdle && !this.#isRemoved && this.#launching.size === 0) this.#end();
  }

  #end(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(new Error(`provider "${this.config.name}" has stopped`));
    this.#backingRequests.stop();
    this.#unsubscribe?.();
    this.#scans.stop();
    this.#requests.close();
    this.#slots.close();
  }

  /** After the removal of the provider: withdraws its requests and returns unused backing nodes. */
  async #dismantle(): Promise<void> {
    const { clock, logger } = this.#context;
    try {
      for (let attempt = 0; attempt < DISMANTLE_ATTEMPTS && !this.#stop.signal.aborted; attempt++) {
        const isWithdrawn = await this.#backingRequests.withdrawAll();
        if ((await this.#returns.releaseEmpty()) && isWithdrawn) break;
        this.#slots.recheck();
        await delay(clock, DISMANTLE_RETRY_MS, this.#stop.signal);
      }
    } catch (error) {
      logger.warn('Cleaning up a removed provider failed', { error });
    }
    const left = [...this.#slots.all()].filter(({ ownership }) => ownership !== 'foreign').map(({ id }) => id);
    if (left.length > 0) {
      const fix = 'they stay locked until a launcher has the provider in its configuration again';
      logger.warn(`Backing nodes of a removed provider were not returned: ${fix}`, { nodes: left });
    }
    this.#end();
  }

  // ---- slots

  #backingOf(node: NodeRecord): BackingNode | undefined {
    const place = placeOf(node);
    return place && this.#slots.get(place.backingNode);
  }

  #rejected(node: NodeRecord): void {
    const place = placeOf(node);
    if (place) this.#returns.lost(place.backingNode);
  }

  /** The machine of a backing node is gone, or does not run: its slots get no more jobs. */
  #machineLost(id: NodeId, why: string): void {
    const backing = this.#slots.get(id);
    if (backing?.ownership !== 'ours') return;
    if (!backing.isFailed && !backing.data.failed) this.#returns.fail(backing, why);
    for (const node of this.#context.ownNodes()) {
      if (placeOf(node)?.backingNode === id) this.#context.nodeUnusable?.(node.id, why);
    }
  }

  #lost(id: NodeId): void {
    this.#outcomes.forget(id);
    this.#returns.lost(id);
  }
}

function circular({ name, backingLabel }: MetastaticLabelConfig, chain: readonly string[]): LaunchError {
  return new LaunchError(
    'status',
    `label "${name}" would be its own backing node (requested by ${chain.join(', then ')}): give one of these labels, ` +
      `such as "${name}" with backing-label "${backingLabel}", a backing-label of a provider that launches machines`,
  );
}

/** The label of a backing request that does not name it. */
function labelFor(config: MetastaticProviderConfig, backingLabel: string): string | undefined {
  for (const pool of config.pools.values()) {
    for (const label of pool.labels.values()) if (label.backingLabel === backingLabel) return label.name;
  }
  return undefined;
}
