import { setMaxListeners } from 'node:events';
import { delay, requestPath } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { CapacityError, LaunchError, scanHostKeys } from '@nodepool/core';
import type { LaunchOrder, LaunchResult, Provider, ProviderContext } from '@nodepool/core';
import { Allocator } from './allocator.js';
import type { BackingNode } from './backing-node.js';
import { BackingRequests } from './backing-requests.js';
import { Books } from './books.js';
import { chainOf, isCircular } from './chain.js';
import { isMetastaticLabel, settingsOf } from './config.js';
import type { MetastaticLabelConfig, MetastaticProviderConfig } from './config.js';
import { MetastaticRequestHandler } from './handler.js';
import { KeyScans } from './key-scans.js';
import type { KeyScanner } from './key-scans.js';
import { Keeper } from './keeper.js';
import { launchSlot } from './launch.js';
import { deleteRequest, RequestBook } from './request-book.js';
import { takeOver } from './take-over.js';
import { identityOf, placeOf } from './user-data.js';

const NO_LABELS: ReadonlySet<string> = new Set();
const TAKE_OVER_RETRY_MS = 1_000;
const DISMANTLE_RETRY_MS = 250;
/** How often a removed provider tries to give its backing nodes back; by then ZooKeeper has been away for long. */
const DISMANTLE_ATTEMPTS = 40;

/**
 * Gives out slots on nodes that it gets through Nodepool itself. What is whose stands in the records alone, so several
 * launchers serve one provider together, and one that starts knows at once what another began.
 */
export class MetastaticProvider implements Provider {
  readonly config: MetastaticProviderConfig;
  readonly #context: ProviderContext;
  readonly #owner: string;
  readonly #books: Books;
  readonly #requests: RequestBook;
  readonly #allocator: Allocator;
  readonly #backingRequests: BackingRequests;
  readonly #keeper: Keeper;
  readonly #scans: KeyScans;
  readonly #taking = new Map<RequestId, Promise<void>>();
  /** Backing nodes this launcher took over. */
  readonly #taken = new Set<NodeId>();
  readonly #launching = new Set<Promise<LaunchResult>>();
  readonly #stop = new AbortController();
  #isIdle = false;
  #isStopped = false;
  /** The provider has left the configuration: its books stay open until its last slot has ended. */
  #isRemoved = false;

  /** @param scan - reads host keys; default: over the network */
  constructor(config: MetastaticProviderConfig, context: ProviderContext, scan: KeyScanner = scanHostKeys) {
    this.config = config;
    this.#context = context;
    setMaxListeners(0, this.#stop.signal); // one for each backing node being taken over
    this.#owner = identityOf(config.name);
    const keeper = new Keeper({
      ...{ context, owner: this.#owner },
      settingsOf: (label) => (this.#isRemoved ? undefined : settingsOf(config, label)),
      books: () => this.#books,
      isOurs: (id) => this.#taken.has(id),
    });
    this.#keeper = keeper;
    this.#books = new Books(context, config.name, this.#owner, {
      labelChanged: (label) => this.#allocator.schedule(label),
      backingChanged: (backing) => keeper.look(backing),
      backingLost: (id) => this.#lost(id),
    });
    this.#scans = new KeyScans({
      ...{ context, scan, timeoutMs: config.bootTimeoutMs },
      failed: (backing) => keeper.fail(backing),
    });
    this.#allocator = new Allocator(context, this.#books, {
      scanKeys: (claim, backing) => this.#scans.read(claim, backing),
      served: (label) => this.#backingRequests.check(label),
    });
    this.#requests = new RequestBook(context, this.#owner, (backingLabel) => labelFor(config, backingLabel), {
      labelChanged: (label) => this.#allocator.schedule(label),
      fulfilled: (request, label) => this.#takeOver(request, label),
      failed: (request, label) => void this.#requestFailed(request, label),
      gone: (id) => this.#requestGone(id),
    });
    const { books, requests, allocator } = { books: this.#books, requests: this.#requests, allocator: this.#allocator };
    this.#backingRequests = new BackingRequests({ context, config, owner: this.#owner, books, requests, allocator });
  }

  start(): Promise<void> {
    const { closing } = this.#context;
    this.#requests.open();
    this.#books.open();
    if (closing?.aborted) this.#close();
    else closing?.addEventListener('abort', () => this.#close(), { once: true });
    return Promise.resolve();
  }

  idle(): void {
    if (this.#isIdle) return;
    this.#isIdle = true;
    if (this.#isRemoved) return;
    this.#keeper.stop();
    this.#endWhenUnused();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#isIdle = true;
    // back in the configuration: a successor asks for backing nodes, which this one would withdraw
    if (this.#isRemoved && this.#isConfigured) this.#backingRequests.stop();
    this.#isRemoved = !this.#isConfigured;
    this.#keeper.stop();
    this.#endWhenUnused();
  }

  async join(): Promise<void> {
    await Promise.all(this.#launching);
    await Promise.all([this.#allocator.settled(), this.#keeper.settled(), this.#backingRequests.settled()]);
    if (this.#isRemoved) await this.#dismantle();
    await Promise.all(this.#taking.values());
  }

  labelReady(pool: string, label: string): boolean {
    return this.config.pools.get(pool)?.labels.has(label) ?? false;
  }

  getRequestHandler(): MetastaticRequestHandler {
    return new MetastaticRequestHandler({
      launch: (order, signal) => this.#launch(order, signal),
      isUsable: (node) => this.#backingOf(node)?.ownership === 'ours',
      rejected: (node) => this.#rejected(node),
    });
  }

  /** The external id is the node's own id: nothing is behind a slot but the backing node, which stays. */
  ownsResource(): boolean {
    return false;
  }

  /** The slot is free as soon as the record is gone. */
  startNodeCleanup(): undefined {
    return undefined;
  }

  async cleanupLeakedResources(): Promise<void> {
    if (this.#isIdle) return;
    this.#books.recheck();
    this.#requests.recheck();
    this.#keeper.sweep();
    for (const label of this.#books.labels()) this.#allocator.schedule(label);
    await this.#keeper.settled();
  }

  errorLabels(): ReadonlySet<string> {
    return NO_LABELS;
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
      logger.error('Refused a backing request that leads back to itself', { nodeId: order.node.id, chain, error });
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

  /** Nothing more will be asked of this provider. */
  #close(): void {
    this.#isRemoved = !this.#isConfigured;
    this.#backingRequests.close(this.#isRemoved ? 'removal' : 'stop');
    if (this.#isRemoved) this.#keeper.lookAtAll();
  }

  /**
   * A replaced provider goes on until its launches have ended: their requests are handled by it. A removed one ends when
   * it has given back what it can.
   */
  #endWhenUnused(): void {
    if (this.#isIdle && !this.#isRemoved && this.#launching.size === 0) this.#end();
  }

  #end(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(new Error(`provider "${this.config.name}" has stopped`));
    this.#backingRequests.stop();
    this.#scans.stop();
    this.#requests.close();
    this.#books.close();
  }

  /** Nobody here will care for what the provider leaves: withdraws its requests and gives back what is not in use. */
  async #dismantle(): Promise<void> {
    const { clock, logger } = this.#context;
    try {
      for (let attempt = 0; attempt < DISMANTLE_ATTEMPTS && !this.#stop.signal.aborted; attempt++) {
        const isWithdrawn = await this.#backingRequests.withdrawAll();
        if ((await this.#keeper.releaseEmpty()) && isWithdrawn) break;
        this.#books.recheck();
        await delay(clock, DISMANTLE_RETRY_MS, this.#stop.signal);
      }
    } catch (error) {
      logger.warn('Could not give back everything of a removed provider', { error });
    }
    const left = [...this.#books.all()].filter(({ ownership }) => ownership !== 'foreign').map(({ id }) => id);
    if (left.length > 0) {
      const fix = 'they stay locked until a launcher has the provider in its configuration again';
      logger.warn(`Backing nodes of a removed provider could not be given back: ${fix}`, { nodes: left });
    }
    this.#end();
  }

  // ---- backing requests

  #takeOver(request: RequestRecord, label: string): void {
    if (this.#taking.has(request.id) || this.#isRemoved) return;
    const run = this.#tryTakeOver(request, label).finally(() => this.#taking.delete(request.id));
    this.#taking.set(request.id, run);
  }

  async #tryTakeOver(first: RequestRecord, label: string): Promise<void> {
    const { logger, clock, requests } = this.#context;
    const { signal } = this.#stop;
    let request: RequestRecord | undefined = first;
    while (request?.state === 'fulfilled' && !signal.aborted && this.#requests.isOwn(request)) {
      try {
        await this.#takeOverOnce(request, label);
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('Could not take a backing node over; trying again', { requestId: request.id, label, error });
      }
      await delay(clock, TAKE_OVER_RETRY_MS, signal).catch(() => undefined); // the loop looks at the signal
      request = requests.get(first.id);
    }
  }

  async #takeOverOnce(request: RequestRecord, label: string): Promise<void> {
    const { logger } = this.#context;
    const fields = { requestId: request.id, nodeId: request.nodeIds[0], label };
    const slots = settingsOf(this.config, label)?.maxParallelJobs ?? 1;
    const order = { request, owner: this.#owner, label, slots };
    const [node] = request.nodeIds;
    if (node !== undefined) this.#taken.add(node);
    const isTaken = await takeOver(this.#context, order, this.#stop.signal);
    if (!isTaken && node !== undefined) this.#taken.delete(node);
    if (isTaken) logger.info('Took a backing node over', { ...fields, slots });
    else logger.warn('The node of a backing request was not to be had', fields);
  }

  /** Nobody can make the backing node: as many launches as waited for it have failed. */
  async #requestFailed(request: RequestRecord, label: string): Promise<void> {
    const { logger } = this.#context;
    const settings = settingsOf(this.config, label);
    const backingLabel = request.labels[0] ?? '';
    logger.warn('A backing request failed', { requestId: request.id, label, backingLabel });
    const waiting = this.#allocator.waitingFor(label);
    const coming = this.#requests.expected(label) * (settings?.maxParallelJobs ?? 1) + this.#books.label(label).supply;
    const why = request.launchError === null ? '' : `: ${request.launchError}`;
    for (const claim of waiting.slice(Math.min(coming, Math.max(0, waiting.length - 1)))) {
      claim.failed(
        new LaunchError('status', `request ${request.id} for backing label "${backingLabel}" was refused by all${why}`),
      );
    }
    try {
      await deleteRequest(this.#context, requestPath(request.id));
    } catch (error) {
      logger.warn('Could not delete a failed backing request', { requestId: request.id, error });
    }
  }

  #requestGone(id: RequestId): void {
    for (const claim of [...this.#allocator.waitingOf(id)]) {
      claim.failed(new CapacityError(`request ${id} was withdrawn before a slot was free`));
    }
  }

  // ---- slots

  #backingOf(node: NodeRecord): BackingNode | undefined {
    const place = placeOf(node);
    return place && this.#books.get(place.backingNode);
  }

  #rejected(node: NodeRecord): void {
    const place = placeOf(node);
    if (place) this.#keeper.lost(place.backingNode);
  }

  #lost(id: NodeId): void {
    this.#taken.delete(id);
    this.#keeper.lost(id);
  }
}

function circular({ name, backingLabel }: MetastaticLabelConfig, chain: readonly string[]): LaunchError {
  return new LaunchError(
    'status',
    `label "${name}" would be its own backing node (asked for by ${chain.join(', then ')}): give one of these labels, ` +
      `such as "${name}" with backing-label "${backingLabel}", a backing-label of a provider that makes machines`,
  );
}

/** The label that backing nodes of a label are for, where a request does not say. */
function labelFor(config: MetastaticProviderConfig, backingLabel: string): string | undefined {
  for (const pool of config.pools.values()) {
    for (const label of pool.labels.values()) if (label.backingLabel === backingLabel) return label.name;
  }
  return undefined;
}
