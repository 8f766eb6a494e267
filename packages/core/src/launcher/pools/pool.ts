import type { LauncherId, NodeRecord, PoolComponentRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { PoolExplanation } from '../plan/explanation.js';
import type { Launch } from '../events.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { PoolChange } from '../registry/registered-pools.js';
import type { Context } from '../state/context.js';
import { explainPool } from '../view/explain-pool.js';
import type { LivePoolView } from '../view/pool-view.js';
import { PoolAnnouncement } from './pool-announcement.js';
import { PoolQueue } from './pool-queue.js';
import { PoolWork, type PoolTools } from './pool-work.js';

/** Serves requests for one pool of one provider. Works when something changed; otherwise it rests. */
export class Pool {
  /** The pool as the plan sees it. */
  readonly view: LivePoolView;
  readonly #context: Context;
  readonly #tools: PoolTools;
  readonly #logger: Logger;
  readonly #announcement: PoolAnnouncement;
  readonly #queue: PoolQueue;
  readonly #work: PoolWork;

  /** @param announceLegacy - also where old launchers look */
  constructor(context: Context, tools: PoolTools, announceLegacy: boolean) {
    const { view } = tools;
    const { provider, pool } = view;
    const name = LOGGER_NAMES.poolWorker(provider, pool.name);
    this.#logger = context.logger.child({ provider, pool: pool.name }, name);
    this.#context = { ...context, logger: this.#logger };
    this.#tools = tools;
    this.view = view;
    this.#queue = new PoolQueue(this.#context, tools);
    this.#work = new PoolWork(this.#context, tools, this.#queue);
    this.#announcement = new PoolAnnouncement(this.#context, view, announceLegacy);
  }

  // --- life cycle -------------------------------------------------------------------------------------------------

  /** Registers the pool, which begins to serve once the registry shows it. */
  async start(): Promise<void> {
    this.#context.events.emit('poolOpened', { pool: this.view });
    await this.register();
  }

  /** Registers again after a new session; the work of the old one has been abandoned. */
  async register(): Promise<void> {
    this.view.isRegistered = false;
    await this.#announcement.register();
    this.#noticeRegistration();
  }

  /** Puts a changed configuration into force. */
  update(runner: ProviderRunner, pool: PoolConfig): void {
    this.view.use(runner, pool);
    this.standingChanged();
  }

  /** What the pool says of itself may be different, and what it may serve: its provider's health, an operator's order. */
  standingChanged(): void {
    this.#refreshAnnouncement();
    this.reconsiderAll();
  }

  /** The session is over: nothing that its work holds exists any more. */
  sessionLost(cause: Error): void {
    this.view.isRegistered = false;
    this.#work.abandon(cause);
  }

  /** Takes nothing new, leaves the registry, lets work under way finish. Requests that wait for capacity are put back. */
  async drain(): Promise<void> {
    this.view.beginStopping();
    this.#queue.stopTimers();
    this.#work.keepFor(undefined);
    await this.#announcement.remove();
    this.view.isRegistered = false;
    this.view.demand.waiting.clear();
    this.#context.events.emit('poolClosed', { pool: this.view });
    await Promise.all([this.#work.drain(), this.#queue.ended()]);
  }

  /** Stops at once; locks go with the session. */
  abandon(cause: Error): void {
    this.view.beginStopping();
    this.#work.abandon(cause);
  }

  // --- status -----------------------------------------------------------------------------------------------------

  /** Id of the pool in the registry. */
  get launcherId(): LauncherId {
    return this.view.launcherId;
  }

  /** Requests being worked on and waiting, for status output. */
  get load(): { handling: number; waiting: number; paused: number } {
    const { atWork, waiting, pausedCount: paused } = this.view.demand;
    return { handling: atWork.size, waiting: waiting.size, paused };
  }

  /** What this pool does with a request, or would do with one that has not been submitted. Changes nothing. */
  explain(request: RequestRecord): PoolExplanation {
    return explainPool(request, this.view);
  }

  // --- events -----------------------------------------------------------------------------------------------------

  /** Plans again, once for everything that happens in this turn. */
  wake(): void {
    this.view.demand.planSoon();
  }

  /** Plans again if a request waits. */
  wakeIfNeeded(): void {
    if (this.view.demand.isSome) this.wake();
  }

  /** Plans now, in case a watch event was missed. @returns how many requests could be served that no event had woken */
  sweep(): number {
    return this.#work.sweep();
  }

  lookAgain(id: RequestId): void {
    this.#queue.lookAgain(id);
  }

  reconsiderAll(): void {
    this.#queue.reconsiderAll();
  }

  requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    const work = this.#work.get(id);
    if (work) {
      if (!after) work.requestGone();
      return;
    }
    // capacity may have been kept for the request
    const hasLeft = before?.state === 'pending' && after?.state !== 'pending';
    if (hasLeft && this.view.launches) this.wakeIfNeeded();
    if (!after) this.#queue.requestGone(id);
    else if (this.view.isRegistered) this.#queue.consider(after);
  }

  /** What was done under a lock that is given up has been seen by now; perhaps nothing was. */
  requestLockChanged(request: RequestRecord): void {
    if (this.view.isRegistered && !this.view.demand.atWork.has(request.id)) this.#queue.consider(request);
  }

  /** A node of the provider can be taken: one in another pool may make capacity for this one. */
  nodeFree({ pool }: NodeRecord): void {
    if (pool === this.view.pool.name || this.view.launches) this.wakeIfNeeded();
  }

  /** A node of the provider is gone. */
  nodeGone(): void {
    if (this.view.launches) this.wakeIfNeeded();
  }

  /** A launch of the provider is over: where their number is limited, that of another pool matters as well. */
  launchEnded({ pool }: Launch): void {
    const { maxConcurrency, launchLimit } = this.view;
    const isLimited = maxConcurrency >= 0 || launchLimit < Infinity;
    if (isLimited || pool === this.view.pool.name) this.wake();
  }

  waitChanged(): void {
    const before = this.view.paused;
    this.#work.waitChanged();
    if (before !== this.view.paused) this.#refreshAnnouncement();
  }

  poolsChanged({ before, after }: PoolChange): void {
    if (!this.view.isRegistered) this.#noticeRegistration();
    else if (!before || !after || changesStanding(before, after, this.view.priority)) this.reconsiderAll();
  }

  #noticeRegistration(): void {
    const { launcherId, stopping, pool } = this.view;
    if (this.view.isRegistered || stopping || !this.#announcement.made) return;
    if (!this.#tools.registry.has(launcherId)) return;
    this.view.isRegistered = true;
    this.#logger.info('Pool is registered', { labels: [...pool.labels.keys()] });
    this.reconsiderAll();
  }

  #refreshAnnouncement(): void {
    if (!this.view.stopping) this.#announcement.refresh();
  }
}

/** Whether a pool pauses matters only to pools that it takes precedence over. */
function changesStanding(before: PoolComponentRecord, after: PoolComponentRecord, ownPriority: number): boolean {
  if (before.paused !== after.paused && after.priority < ownPriority) return true;
  return (
    before.priority !== after.priority ||
    before.health !== after.health ||
    before.launcherId !== after.launcherId ||
    before.providerName !== after.providerName ||
    before.supportedLabels.length !== after.supportedLabels.length ||
    before.supportedLabels.some((label) => !after.supportedLabels.includes(label))
  );
}
