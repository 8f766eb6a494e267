import { CapacityError } from '@nodepool/core';
import type { ProviderContext } from '@nodepool/core';
import { encodeRequest, isZooKeeperError, newRequest, requestCreatePath, requestPath } from '@nodepool/zk-protocol';
import { delay, REQUESTS_ROOT, uuidHex } from '@nodepool/zk-protocol';
import type { CancelTimer, Operation, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { Allocator } from './allocator.js';
import type { SlotIndex } from './slot-index.js';
import { requestorDataFor } from './chain.js';
import { settingsOf } from './config.js';
import type { MetastaticProviderConfig } from './config.js';
import { deleteRequest } from './backing-request-index.js';
import type { BackingRequestIndex } from './backing-request-index.js';

const PRIORITY = 100;
/** Maximum requests in one transaction. */
const BATCH = 50;
/** How long a request must be unnecessary before it is withdrawn. */
const SURPLUS_MS = 1_000;
const RETRY_MS = 1_000;
/** Maximum round trips to wait until the caches are current, before a request is created. */
const CATCH_UP_ROUNDS = 20;

/** Dependencies of {@link BackingRequests}. */
export interface BackingRequestsOptions {
  readonly context: ProviderContext;
  readonly config: MetastaticProviderConfig;
  readonly owner: string;
  readonly slots: SlotIndex;
  readonly requests: BackingRequestIndex;
  readonly allocator: Allocator;
}

/** Why no more backing nodes are requested: the provider was removed, or the launcher stops. */
export type ClosedFor = 'removal' | 'stop';

/**
 * Requests as many backing nodes as all launchers together lack, and withdraws unnecessary requests. Each transaction
 * rewrites the (empty) data of the requests' parent, conditional on the version at the time of counting, so it fails if
 * another launcher has created a request since. Nothing else uses that data.
 */
export class BackingRequests {
  readonly #options: BackingRequestsOptions;
  readonly #short = new Set<string>();
  readonly #stop = new AbortController();
  readonly #withdrawing = new Map<RequestId, Promise<void>>();
  #closed: ClosedFor | undefined;
  #asking: Promise<void> | undefined;
  #cancelSurplus: CancelTimer | undefined;
  #surplus = new Set<string>();

  constructor(options: BackingRequestsOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stop.abort(new Error('the provider has stopped'));
    this.#cancelSurplus?.();
  }

  /**
   * Requests no more backing nodes. Launches that will get no slot end `aborted`, so that other launchers get their
   * requests. If the launcher stops, launches whose backing node is being launched continue.
   */
  close(why: ClosedFor): void {
    this.#closed = why;
    for (const label of this.#options.requests.labels()) this.#options.allocator.schedule(label);
    for (const label of this.#options.slots.labels()) this.#options.allocator.schedule(label);
  }

  /** Resolves when no request is being created or withdrawn. */
  async settled(): Promise<void> {
    await this.#asking;
    await Promise.all(this.#withdrawing.values());
  }

  /** Withdraws all requests of this launcher. @returns whether none remain */
  async withdrawAll(): Promise<boolean> {
    for (const request of this.#own()) this.#withdrawNow(request);
    await this.settled();
    return this.#own().length === 0;
  }

  #own(): RequestRecord[] {
    const { requests } = this.#options;
    return requests.labels().flatMap((label) => requests.ofLabel(label).filter((request) => requests.isOwn(request)));
  }

  /** Creates missing requests of a label, or schedules the withdrawal of unnecessary ones. */
  check(label: string): void {
    if (this.#stop.signal.aborted) return;
    if (this.#closed) {
      this.#windUp(label, this.#closed);
      return;
    }
    const lacking = this.#lacking(label);
    if (lacking > 0 && this.#options.allocator.waitingFor(label).length > 0) {
      this.#short.add(label);
      this.#asking ??= this.#ask();
    }
    if (lacking < 0) this.#withdrawLater(label);
  }

  /** Ends requests and launches that no launcher is serving yet. */
  #windUp(label: string, why: ClosedFor): void {
    const { allocator, slots, config, requests } = this.#options;
    const own = requests.ofLabel(label).filter((request) => requests.isOwn(request));
    const started = why === 'removal' ? [] : own.filter((request) => !this.#hasNoNode(request));
    for (const request of own) if (!started.includes(request)) this.#withdrawNow(request);
    const supply = why === 'removal' ? 0 : slots.label(label).supply;
    const served = started.length * (settingsOf(config, label)?.maxParallelJobs ?? 1) + supply;
    for (const claim of allocator.waitingFor(label).slice(served)) {
      claim.failed(
        new CapacityError(
          why === 'removal'
            ? `provider "${config.name}" left the configuration before a slot of label "${label}" was free`
            : `the launcher stops, and no launcher is launching a backing node for label "${label}" yet`,
        ),
      );
    }
  }

  /** Number of backing nodes to request; negative: number of unnecessary requests. */
  #lacking(label: string): number {
    const { slots, config, requests } = this.#options;
    const settings = settingsOf(config, label);
    const { waiting, reserved, supply } = slots.label(label);
    const missing = waiting.size - reserved - supply;
    const wanted = settings && missing > 0 ? Math.ceil(missing / settings.maxParallelJobs) : 0;
    return wanted - requests.expected(label);
  }

  get #isOver(): boolean {
    return this.#closed !== undefined || this.#stop.signal.aborted;
  }

  async #ask(): Promise<void> {
    const { context } = this.#options;
    while (this.#short.size > 0 && !this.#isOver) {
      try {
        const version = await this.#countedVersion();
        const labels = [...this.#short];
        if (await this.#create(version, labels)) for (const label of labels) this.#short.delete(label);
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        if (!isZooKeeperError(error)) {
          context.logger.error('Requesting backing nodes failed', { error });
          this.#short.clear();
          break;
        }
        if (this.#isOver) break;
        context.logger.warn('Requesting backing nodes failed; retrying', { error });
        await delay(context.clock, RETRY_MS, this.#stop.signal).catch(() => undefined); // the loop checks the signal
      }
    }
    this.#asking = undefined;
  }

  /** A version of the requests' parent up to which the caches are complete. */
  async #countedVersion(): Promise<number> {
    const { zk, requests, nodes } = this.#options.context;
    await Promise.all([requests.whenReady(this.#stop.signal), nodes.whenReady(this.#stop.signal)]);
    const stat = await zk.exists(REQUESTS_ROOT);
    for (let round = 0; round < CATCH_UP_ROUNDS && requests.eventQueue + requests.playbackQueue > 0; round++) {
      await zk.exists(REQUESTS_ROOT);
    }
    return stat?.version ?? 0;
  }

  /** @returns false if another launcher was faster, or if more requests are needed */
  async #create(version: number, labels: readonly string[]): Promise<boolean> {
    const { config, context, owner } = this.#options;
    const operations: Operation[] = [];
    const counts: Record<string, number> = {};
    for (const label of labels) {
      const backingLabel = settingsOf(config, label)?.backingLabel;
      const count = Math.min(this.#lacking(label), BATCH - operations.length);
      if (backingLabel === undefined || count <= 0) continue;
      counts[label] = count;
      for (let i = 0; i < count; i++) operations.push(this.#createRequest(label, backingLabel, owner));
    }
    if (operations.length === 0 || this.#isOver) return true;
    try {
      await context.committer.commit([{ op: 'set', path: REQUESTS_ROOT, data: '', version }, ...operations]);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_BAD_VERSION')) return false;
      throw error;
    }
    context.logger.info('Requested backing nodes', { provider: config.name, nodes: counts });
    return operations.length < BATCH;
  }

  #createRequest(label: string, backingLabel: string, requestor: string): Operation {
    const { allocator, context } = this.#options;
    const chains = allocator.waitingFor(label).map(({ chain }) => chain);
    const requestorData = requestorDataFor(requestor, label, chains);
    const request = newRequest(
      { labels: [backingLabel], requestor, requestorData, eventId: uuidHex() },
      context.clock.now(),
    );
    return {
      op: 'create',
      path: requestCreatePath(PRIORITY),
      data: encodeRequest(request),
      ephemeral: true,
      sequential: true,
    };
  }

  #withdrawLater(label: string): void {
    this.#surplus.add(label);
    this.#cancelSurplus ??= this.#options.context.clock.setTimer(SURPLUS_MS, () => {
      this.#cancelSurplus = undefined;
      const labels = this.#surplus;
      this.#surplus = new Set();
      for (const each of labels) this.#withdraw(each);
    });
  }

  /** Withdraws the newest requests first, as every launcher does. A request with a node stays, for later launches. */
  #withdraw(label: string): void {
    const { requests } = this.#options;
    const surplus = -this.#lacking(label);
    if (surplus <= 0 || this.#isOver) return;
    const candidates = requests.ofLabel(label).filter((request) => this.#hasNoNode(request));
    for (const request of candidates.slice(-surplus)) if (requests.isOwn(request)) this.#withdrawNow(request);
  }

  /** Deletes a request unless it was written in the meantime; that change triggers another check. */
  #withdrawNow({ id, stat, labels }: RequestRecord): void {
    if (this.#withdrawing.has(id)) return;
    const { context } = this.#options;
    const fields = { requestId: id, backingLabel: labels[0] };
    const run = deleteRequest(context, requestPath(id), stat?.version)
      .then((isGone) => {
        if (isGone) context.logger.info('Withdrew an unnecessary backing request', fields);
      })
      .catch((error: unknown) => context.logger.warn('Withdrawing a backing request failed', { ...fields, error }))
      .finally(() => this.#withdrawing.delete(id));
    this.#withdrawing.set(id, run);
  }

  #hasNoNode(request: RequestRecord): boolean {
    if (request.state === 'requested') return true;
    if (request.state !== 'pending') return false;
    for (const node of this.#options.context.nodes.values()) if (node.allocatedTo === request.id) return false;
    return true;
  }
}
