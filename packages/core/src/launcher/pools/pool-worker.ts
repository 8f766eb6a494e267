import type { LauncherId, NodeRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import { TaskSet } from '../../async/task-set.js';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Services } from '../mirror/services.js';
import type { PoolExplanation } from '../plan/explanation.js';
import { judgeHealth } from '../plan/health-rules.js';
import { imagesUnavailable } from '../plan/rules.js';
import type { PoolPlan } from '../plan/plan-pool.js';
import type { Assignment, Reason, Reservation } from '../plan/types.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import { explainPool } from './explain-pool.js';
import { PoolAnnouncement } from './pool-announcement.js';
import { PoolEvents } from './pool-events.js';
import { PoolHandlers } from './pool-handlers.js';
import { PoolPass, type PassPort } from './pool-pass.js';
import type { PoolPort } from './pool-port.js';
import { PoolQueue } from './pool-queue.js';
import { PoolRefusals } from './pool-refusals.js';
import { LivePoolView } from './pool-view.js';
import { RequestDrivers } from './request-drivers.js';

/**
 * Serves requests for one pool of one provider. Works when something changed; otherwise it rests. What it sees is in its
 * view, what it reacts to in its events, what waits in its queue, what it decides in its pass, and what it has accepted in
 * its handlers.
 */
export class PoolWorker {
  /** The pool as the plan sees it. */
  readonly view: LivePoolView;
  readonly #services: Services;
  readonly #port: PoolPort;
  readonly #logger: Logger;
  readonly #announcement: PoolAnnouncement;
  readonly #queue: PoolQueue;
  readonly #pass: PoolPass;
  readonly #handlers: PoolHandlers;
  readonly #drivers: RequestDrivers;
  readonly #refusals: PoolRefusals;
  readonly #running = new TaskSet();
  readonly #events: PoolEvents;
  #registered = false;

  constructor(services: Services, port: PoolPort, runner: ProviderRunner, pool: PoolConfig, launcherId: LauncherId) {
    this.#port = port;
    this.#services = services;
    const logger = LOGGER_NAMES.poolWorker(runner.name, pool.name);
    this.#logger = services.logger.child({ provider: runner.name, pool: pool.name }, logger);
    this.view = new LivePoolView({ services, port, runner, pool, launcherId, requests: this.#requestsOfView() });
    this.#drivers = new RequestDrivers(this.view);
    const links = {
      ...{ services, port, view: this.view, logger: this.#logger },
      track: (work: Promise<void>) => void this.#running.track(work),
      wake: () => this.wake(),
      isHandled: (id: RequestId) => this.handles(id),
      pauseChanged: () => this.#refreshAnnouncement(),
      lookAgain: (id: RequestId) => this.#queue.lookAgain(id),
      lookAgainLater: (id: RequestId, firstMs?: number) => this.#queue.lookAgainLater(id, firstMs),
      forgetRetries: (id: RequestId) => this.#queue.forgetRetries(id),
    };
    this.#refusals = new PoolRefusals(links);
    this.#queue = new PoolQueue({ ...links, refusals: this.#refusals });
    this.#handlers = new PoolHandlers(links);
    this.#pass = new PoolPass(this.view, this.#queue.requests, this.#passPort());
    this.#announcement = new PoolAnnouncement(services, port, this.view, this.#logger);
    this.#events = new PoolEvents({
      ...{ services, port, view: this.view, queue: this.#queue, handlers: this.#handlers },
      isRegistered: () => this.#registered,
      noticeRegistration: () => this.#noticeRegistration(),
      refreshAnnouncement: () => this.#refreshAnnouncement(),
      hasDemand: () => this.#hasDemand(),
      wake: () => this.wake(),
    });
  }

  /** What the pass asks and decides. */
  #passPort(): PassPort {
    return {
      canPlan: () => this.#canPlan(),
      planned: (plan) => this.#planned(plan),
      pausedRequests: () => this.#handlers.pausedRequests(),
      accept: (request, assignment) => this.#accept(request, assignment),
      resume: (request, assignment) => this.#handlers.resume(request, assignment),
      decline: (request, reason) => this.#decline(request, reason),
      giveUp: (id) => this.#handlers.get(id)?.giveUp(),
      release: (node, why) => this.#port.releaseNode(node, why),
      setHead: (head) => this.#setHead(head),
    };
  }

  #requestsOfView() {
    return {
      pausedCount: () => this.#handlers.pausedCount,
      waitingFor: (label: string) => this.#queue.requests.countOf(label),
      has: (id: RequestId) => this.#queue.requests.has(id) || this.handles(id),
      isPausing: (id: RequestId) => this.#queue.isPausing(id),
      acceptsNode: (request: RequestRecord, node: NodeRecord) => {
        const handler = this.#handlers.get(request.id);
        return handler ? handler.acceptsNode(node) : (this.#drivers.of(request).acceptsNode?.(node) ?? true);
      },
    };
  }

  // --- life cycle -------------------------------------------------------------------------------------------------

  /** Registers the pool and begins to serve once the registry shows it. */
  async start(): Promise<void> {
    this.#services.events.emit('poolOpened', { pool: this.view });
    this.#events.listen();
    await this.#register();
  }

  async #register(): Promise<void> {
    await this.#announcement.register();
    this.#noticeRegistration();
  }

  /** Puts a changed configuration into force. */
  update(runner: ProviderRunner, pool: PoolConfig): void {
    this.view.use(runner, pool);
    this.#refreshAnnouncement();
    this.reconsiderAll();
  }

  /** The provider fails, is well again, or it is time for a probe. */
  healthChanged(): void {
    this.#refreshAnnouncement();
    this.reconsiderAll();
  }

  /** Registers again after a new session; handlers of the old one have been abandoned. */
  async sessionRenewed(): Promise<void> {
    this.#registered = false;
    await this.#register();
  }

  /** The session is over: nothing its handlers hold exists any more. */
  sessionLost(cause: Error): void {
    this.#registered = false;
    this.#handlers.abandon(cause);
  }

  /** Takes nothing new, leaves the registry, lets running handlers finish. Paused ones give their nodes back. */
  async drain(): Promise<void> {
    this.view.beginStopping();
    this.#queue.cancelRetries();
    await this.#announcement.remove();
    this.#queue.requests.clear();
    this.#services.events.emit('poolClosed', { pool: this.view });
    this.#setHead(undefined);
    this.#handlers.putBackPaused();
    await this.#running.ended();
    this.#events.stop();
  }

  /** Stops at once; locks go with the session. */
  abandon(cause: Error): void {
    this.view.beginStopping();
    this.#events.stop();
    this.#handlers.abandon(cause);
  }

  // --- status -----------------------------------------------------------------------------------------------------

  /** Id of the pool in the registry. */
  get launcherId(): LauncherId {
    return this.view.launcherId;
  }

  /** The pool works on the request. */
  handles(id: RequestId): boolean {
    return this.#handlers.has(id);
  }

  /** Requests being worked on and waiting, for status output. */
  get load(): { handling: number; waiting: number; paused: number } {
    const { size: handling, pausedCount: paused } = this.#handlers;
    return { handling, waiting: this.#queue.requests.size, paused };
  }

  /** What this pool does with a request, or would do with one that has not been submitted. Changes nothing. */
  explain(request: RequestRecord): PoolExplanation {
    const handler = this.#handlers.get(request.id);
    const handled = !handler ? 'no' : handler.paused ? 'paused' : 'collecting';
    const paused = this.#handlers.pausedRequests();
    return explainPool(request, this.view, { queue: this.#queue.requests, paused, handled });
  }

  // --- what makes it look again --------------------------------------------------------------------------------------

  /** Plans again, once for everything that happens in this turn. */
  wake(): void {
    this.#pass.wake();
  }

  /** Looks at everything again, in case a watch event was missed. @returns how many requests could be served */
  sweep(): number {
    return this.#pass.sweep();
  }

  /** Looks at a request once more. */
  lookAgain(id: RequestId): void {
    this.#queue.lookAgain(id);
  }

  /** Looks at every request again, e.g. after the configuration or the registered pools changed. */
  reconsiderAll(): void {
    this.#events.reconsiderAll();
  }

  #noticeRegistration(): void {
    const { launcherId, stopping, pool } = this.view;
    if (this.#registered || stopping || !this.#announcement.made) return;
    if (!this.#port.registry.pools.some((entry) => entry.launcherId === launcherId)) return;
    this.#registered = true;
    this.#logger.info('Pool is registered', { labels: [...pool.labels.keys()] });
    this.reconsiderAll();
  }

  #refreshAnnouncement(): void {
    if (!this.view.stopping) this.#announcement.refresh();
  }

  // --- what the pass decides --------------------------------------------------------------------------------------

  #hasDemand(): boolean {
    return this.#queue.requests.size > 0 || this.#handlers.pausedCount > 0;
  }

  #canPlan(): boolean {
    const serves = !this.view.stopping && this.#registered && this.view.runner.running && this.#port.isActive();
    return serves && this.#hasDemand();
  }

  #planned(plan: PoolPlan | undefined): void {
    const { events } = this.#services;
    if (plan) events.emit('poolPlanned', { pool: this.view, waiting: plan.waiting, paused: plan.paused });
    else if (this.#hasDemand()) events.emit('poolRested', { pool: this.view });
  }

  #accept(request: RequestRecord, assignment: Assignment): void {
    if (this.#port.isRecovering(request.id)) return; // it keeps its place until we are told to look again
    if (judgeHealth(request, this.view) || (this.view.steering?.isSlow && this.view.leftTo(request))) {
      this.#queue.requests.remove(request.id); // another one accepted in this pass is the probe
      return;
    }
    const driver = this.#drivers.of(request);
    if (!driver.imagesAvailable()) {
      this.#decline(request, imagesUnavailable(request.labels));
      return;
    }
    this.#drivers.forget(request);
    if (this.#handlers.accept(request, assignment, driver)) this.#queue.accepted(request.id);
  }

  #decline(request: RequestRecord, reason: Reason): void {
    this.#queue.requests.remove(request.id);
    this.#refusals.decline(request, reason);
  }

  #setHead(head: Reservation | undefined): void {
    const { runner, provider, pool } = this.view;
    if (runner.setHead(pool.name, head)) this.#port.reservationsEnded(provider, pool.name);
  }
}
