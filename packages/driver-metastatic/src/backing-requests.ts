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
/** Requests in one transaction. */
const BATCH = 50;
/** How long a request must have been one too many before it is withdrawn. */
const SURPLUS_MS = 1_000;
const RETRY_MS = 1_000;
/** How often the caches are given another round trip to catch up before a request is made. */
const CATCH_UP_ROUNDS = 20;

/** What deciding about requests needs. */
export interface BackingRequestsOptions {
  readonly context: ProviderContext;
  readonly config: MetastaticProviderConfig;
  readonly owner: string;
  readonly slots: SlotIndex;
  readonly requests: BackingRequestIndex;
  readonly allocator: Allocator;
}

/** Why nothing more is asked for: the provider left the configuration, or the launcher stops. */
export type ClosedFor = 'removal' | 'stop';

/**
 * Asks for as many backing nodes as all launchers together lack, and withdraws what is too much. A request is made on
 * condition that no other launcher has made one since this one counted: the (empty) body of the requests' parent
 * is rewritten with each, so that its version tells. No other process takes notice of that body.
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
   * Asks for nothing more. Launches that no backing node will serve end `aborted`, so that others get their requests;
   * when the launcher stops, those whose backing node is being made continue.
   */
  close(why: ClosedFor): void {
    this.#closed = why;
    for (const label of this.#options.requests.labels()) this.#options.allocator.schedule(label);
    for (const label of this.#options.slots.labels()) this.#options.allocator.schedule(label);
  }

  /** Resolves when nothing is being asked for or withdrawn. */
  async settled(): Promise<void> {
    await this.#asking;
    await Promise.all(this.#withdrawing.values());
  }

  /** Withdraws whatever this launcher has asked for. @returns whether nothing of it is left */
  async withdrawAll(): Promise<boolean> {
    for (const request of this.#own()) this.#withdrawNow(request);
    await this.settled();
    return this.#own().length === 0;
  }

  #own(): RequestRecord[] {
    const { requests } = this.#options;
    return requests.labels().flatMap((label) => requests.ofLabel(label).filter((request) => requests.isOwn(request)));
  }

  /** Compares what is asked for with what is needed. */
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

  /** Ends what no launcher has begun to serve. */
  #windUp(label: string, why: ClosedFor): void {
    const { allocator, slots, config, requests } = this.#options;
    const own = requests.ofLabel(label).filter((request) => requests.isOwn(request));
    const begun = why === 'removal' ? [] : own.filter((request) => !this.#hasNoNode(request));
    for (const request of own) if (!begun.includes(request)) this.#withdrawNow(request);
    const supply = why === 'removal' ? 0 : slots.label(label).supply;
    const served = begun.length * (settingsOf(config, label)?.maxParallelJobs ?? 1) + supply;
    for (const claim of allocator.waitingFor(label).slice(served)) {
      claim.failed(
        new CapacityError(
          why === 'removal'
            ? `provider "${config.name}" left the configuration before a slot of label "${label}" was free`
            : `the launcher stops and no launcher makes a backing node for label "${label}" yet`,
        ),
      );
    }
  }

  /** Backing nodes to ask for; negative: requests too many. */
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
          context.logger.error('Could not ask for backing nodes', { error });
          this.#short.clear();
          break;
        }
        if (this.#isOver) break;
        context.logger.warn('Could not ask for backing nodes; trying again', { error });
        await delay(context.clock, RETRY_MS, this.#stop.signal).catch(() => undefined); // the loop looks at the signal
      }
    }
    this.#asking = undefined;
  }

  /** The version up to which every request is known here. */
  async #countedVersion(): Promise<number> {
    const { zk, requests, nodes } = this.#options.context;
    await Promise.all([requests.whenReady(this.#stop.signal), nodes.whenReady(this.#stop.signal)]);
    const stat = await zk.exists(REQUESTS_ROOT);
    for (let round = 0; round < CATCH_UP_ROUNDS && requests.eventQueue + requests.playbackQueue > 0; round++) {
      await zk.exists(REQUESTS_ROOT);
    }
    return stat?.version ?? 0;
  }

  /** @returns false when another launcher has asked meanwhile, or there is more to ask for */
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
    context.logger.info('Asked for backing nodes', { provider: config.name, nodes: counts });
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

  /** The newest go first, the same for every launcher. One that has a node already is taken: its node serves later. */
  #withdraw(label: string): void {
    const { requests } = this.#options;
    const surplus = -this.#lacking(label);
    if (surplus <= 0 || this.#isOver) return;
    const candidates = requests.ofLabel(label).filter((request) => this.#hasNoNode(request));
    for (const request of candidates.slice(-surplus)) if (requests.isOwn(request)) this.#withdrawNow(request);
  }

  /** Unless somebody has written it meanwhile: its change is looked at then. */
  #withdrawNow({ id, stat, labels }: RequestRecord): void {
    if (this.#withdrawing.has(id)) return;
    const { context } = this.#options;
    const fields = { requestId: id, backingLabel: labels[0] };
    const run = deleteRequest(context, requestPath(id), stat?.version)
      .then((isGone) => {
        if (isGone) context.logger.info('Withdrew a backing request that is not needed any more', fields);
      })
      .catch((error: unknown) => context.logger.warn('Could not withdraw a backing request', { ...fields, error }))
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
