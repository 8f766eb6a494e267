import type { LauncherId, PoolComponentRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { PoolExplanation } from '../plan/explanation.js';
import type { PoolChange } from '../state/events.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { Context } from '../state/context.js';
import { explainPool } from '../view/explain-pool.js';
import type { RequestWork } from '../requests/request.js';
import type { LivePoolView } from '../view/pool-view.js';
import { Registration } from '../registry/registration.js';
import { announce, refreshed } from './pool-announcement.js';
import { PoolQueue } from './pool-queue.js';
import { PoolWork, type PoolTools } from './pool-work.js';

/** Serves requests for one pool of one provider. Acts on events only. */
export class Pool {
  /** The pool as the plan sees it. */
  readonly view: LivePoolView<RequestWork>;
  /** Takes the events of requests and nodes. */
  readonly queue: PoolQueue;
  readonly work: PoolWork;
  readonly #context: Context;
  readonly #tools: PoolTools;
  readonly #logger: Logger;
  /** The pool's entry in the registry, and optionally one where old launchers look. */
  readonly #registrations: readonly [Registration<PoolComponentRecord>, ...Registration<PoolComponentRecord>[]];

  /** @param announceLegacy - also register where old launchers look */
  constructor(context: Context, tools: PoolTools, announceLegacy: boolean) {
    const { view } = tools;
    const { provider, pool } = view;
    const name = LOGGER_NAMES.poolWorker(provider, pool.name);
    this.#logger = context.logger.child({ provider, pool: pool.name }, name);
    this.#context = { ...context, logger: this.#logger };
    this.#tools = tools;
    this.view = view;
    this.queue = new PoolQueue(this.#context, tools);
    this.work = new PoolWork(this.#context, tools, this.queue);
    const { zk } = context;
    const entry = announce(this.#context, view, tools.registry);
    const legacy = announceLegacy ? [new Registration(zk, entry, this.#logger, view.launcherId)] : [];
    this.#registrations = [new Registration(zk, entry, this.#logger), ...legacy];
  }

  // --- life cycle -------------------------------------------------------------------------------------------------

  /** Registers the pool, which serves requests as soon as the registry shows it. */
  async start(): Promise<void> {
    this.#context.events.emit('poolServes', { pool: this.view, serves: true });
    await this.register();
  }

  /** Registers again in a new session; the work of the old one has been abandoned. */
  async register(): Promise<void> {
    this.view.isRegistered = false;
    await Promise.all(this.#registrations.map((registration) => registration.register()));
    this.#noticeRegistration();
  }

  /** Applies a changed configuration. */
  update(runner: ProviderRunner, pool: PoolConfig): void {
    this.view.use(runner, pool);
    this.standingChanged();
  }

  /** Something changed that the pool publishes or that decides what it may serve, e.g. health or an operator's order. */
  standingChanged(): void {
    this.#refreshAnnouncement();
    this.queue.reconsiderAll();
  }

  /** The session has ended, and its locks with it. */
  sessionLost(cause: Error): void {
    this.view.isRegistered = false;
    this.work.abandon(cause);
  }

  /** Takes no new requests, leaves the registry, and finishes its work. Requests that wait for capacity are returned. */
  async drain(): Promise<void> {
    this.view.beginStopping();
    this.queue.stopTimers();
    this.work.keepFor(undefined);
    await Promise.all(this.#registrations.map((registration) => registration.remove()));
    this.view.isRegistered = false;
    this.view.demand.waiting.clear();
    this.#context.events.emit('poolServes', { pool: this.view, serves: false });
    await Promise.all([this.work.drain(), this.queue.ended()]);
  }

  /** Stops at once; locks expire with the session. */
  abandon(cause: Error): void {
    this.view.beginStopping();
    this.work.abandon(cause);
  }

  // --- status -----------------------------------------------------------------------------------------------------

  /** Id of the pool in the registry. */
  get launcherId(): LauncherId {
    return this.view.launcherId;
  }

  /** Number of requests at work, in the queue and waiting for capacity. */
  get load(): { handling: number; waiting: number; paused: number } {
    const { atWork, waiting, pausedCount: paused } = this.view.demand;
    return { handling: atWork.size, waiting: waiting.size, paused };
  }

  /** What this pool does with a request, or would do with one that has not been submitted. Changes nothing. */
  explain(request: RequestRecord): PoolExplanation {
    return explainPool(request, this.view);
  }

  // --- events -----------------------------------------------------------------------------------------------------

  waitChanged(): void {
    const before = this.view.paused;
    this.work.waitChanged();
    if (before !== this.view.paused) this.#refreshAnnouncement();
  }

  poolsChanged({ before, after }: PoolChange): void {
    if (!this.view.isRegistered) this.#noticeRegistration();
    else if (!before || !after || changesStanding(before, after, this.view.priority)) this.queue.reconsiderAll();
  }

  #noticeRegistration(): void {
    const { launcherId, stopping, pool } = this.view;
    if (this.view.isRegistered || stopping || this.#registrations[0].id === undefined) return;
    if (!this.#tools.registry.registered.has(launcherId)) return;
    this.view.isRegistered = true;
    this.#logger.info('Pool is registered', { labels: [...pool.labels.keys()] });
    this.queue.reconsiderAll();
  }

  #refreshAnnouncement(): void {
    if (this.view.stopping) return;
    const [{ body }] = this.#registrations;
    const entry = refreshed(body, this.view, this.#tools.registry);
    if (entry !== body) for (const registration of this.#registrations) registration.update(entry);
  }
}

/** Whether a change of another pool may change this pool's verdicts. Its pause matters only if it has precedence. */
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
