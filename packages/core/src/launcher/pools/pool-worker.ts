import {
  compareRequests,
  withRequest,
  type CancelTimer,
  type LauncherId,
  type NodeRecord,
  type PoolComponentRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import { declinedRequest, writeUnlockedRequest } from '../requests/decline.js';
import { RequestHandler, type HandlerOutcome, type HandlerPool } from '../requests/handler.js';
import type { PlannedLaunch } from '../requests/planned-launch.js';
import type { Services } from '../mirror/services.js';
import { backoffMs } from '../../async/backoff.js';
import type { Logger } from '../../contract/logger.js';
import { explainInPool } from '../plan/explain-in-pool.js';
import { planPool, type PausedRequest, type PoolPlan } from '../plan/plan-pool.js';
import { RequestQueue } from '../plan/queue.js';
import { imagesUnavailable, judgeDecline, judgeStanding } from '../plan/rules.js';
import { sumResources } from '../../contract/resources.js';
import type { Assignment, Reason, Reservation } from '../plan/types.js';
import type { PoolExplanation } from '../plan/explanation.js';
import { PoolAnnouncement } from './pool-announcement.js';
import type { PoolChange } from './pool-registry.js';
import { PoolSituation, type PoolWorkerHost } from './pool-situation.js';
import type { ProviderRunner } from '../providers/provider-runner.js';

const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 5_000;
/** A request that has given way is not taken up again before the room it made has reached others. */
const GAVE_WAY_PAUSE_MS = 30_000;

/** Serves requests for one pool of one provider. Works when something changed; otherwise it rests. */
export class PoolWorker extends PoolSituation implements HandlerPool {
  readonly #logger: Logger;
  readonly #announcement: PoolAnnouncement;
  readonly #queue = new RequestQueue(compareRequests);
  readonly #handlers = new Map<RequestId, RequestHandler>();
  readonly #drivers = new WeakMap<RequestRecord, { provider: Provider; handler: NodeRequestHandler }>();
  readonly #declining = new Set<RequestId>();
  readonly #retries = new Map<RequestId, { attempts: number; cancel: CancelTimer | undefined }>();
  readonly #running = new Set<Promise<void>>();
  readonly #unsubscribe: (() => void)[] = [];
  #registered = false;
  #scheduled = false;

  constructor(
    services: Services,
    host: PoolWorkerHost,
    runner: ProviderRunner,
    pool: PoolConfig,
    launcherId: LauncherId,
  ) {
    super(services, host, runner, pool, launcherId);
    this.#logger = services.logger.child(
      { provider: runner.name, pool: pool.name },
      LOGGER_NAMES.poolWorker(runner.name, pool.name),
    );
    this.#announcement = new PoolAnnouncement(services, host, this, this.#logger);
  }

  // --- life cycle -------------------------------------------------------------------------------------------------

  /** Registers the pool and begins to serve once the registry shows it. */
  async start(): Promise<void> {
    const { mirror } = this.services;
    this.#unsubscribe.push(
      mirror.listen({
        onRequest: ({ before, after }) => this.#requestChanged(before, after),
        onFree: (node, free) => free && this.#nodeFree(node),
        onNode: ({ before, after }) => this.#nodeChanged(before, after),
      }),
      this.host.registry.onChange((change) => this.#poolsChanged(change)),
      mirror.usage.onTenantRoom(() => this.#hasDemand() && this.wake()),
    );
    await this.#register();
  }

  async #register(): Promise<void> {
    await this.#announcement.register();
    this.#noticeRegistration();
  }

  /** Puts a changed configuration into force. */
  update(runner: ProviderRunner, pool: PoolConfig): void {
    this.runner = runner;
    this.poolConfig = pool;
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
    for (const handler of this.#handlers.values()) handler.abandon(cause);
  }

  /** Takes nothing new, leaves the registry, lets running handlers finish. Paused ones give their nodes back. */
  async drain(): Promise<void> {
    this.beginStopping();
    for (const retry of this.#retries.values()) retry.cancel?.();
    await this.#announcement.remove();
    this.#queue.clear();
    this.#setHead(undefined);
    for (const handler of this.#handlers.values()) handler.putBackIfPaused();
    while (this.#running.size > 0) await Promise.all(this.#running);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Stops at once; locks go with the session. */
  abandon(cause: Error): void {
    this.beginStopping();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const handler of this.#handlers.values()) handler.abandon(cause);
  }

  handles(id: RequestId): boolean {
    return this.#handlers.has(id);
  }

  /** Requests being worked on and waiting, for status output. */
  get load(): { handling: number; waiting: number; paused: number } {
    return { handling: this.#handlers.size, waiting: this.#queue.size, paused: this.pausedHandlers };
  }

  /** What this pool does with a request, or would do with one that has not been submitted. Changes nothing. */
  explain(request: RequestRecord): PoolExplanation {
    const handler = this.#handlers.get(request.id);
    const handled = !handler ? 'no' : handler.paused ? 'paused' : 'collecting';
    const desk = { view: this, queue: this.#queue, paused: this.#pausedRequests(), handled } as const;
    const { reason, ...finding } = explainInPool(request, desk);
    const names = { provider: this.provider, pool: this.pool.name, launcherId: this.launcherId };
    return { ...names, own: true, ...reason, ...finding, hindrances: this.#hindrances(request, finding.action) };
  }

  /** Asked only about requests that wait: where nothing is missing, nothing hinders. */
  #hindrances(request: RequestRecord, action: PoolExplanation['action']): string[] {
    if (action !== 'wait' && action !== 'handling') return [];
    const labels = [...new Set(request.labels)];
    const found = labels.flatMap((label) => this.runningProvider.hindrances?.(this.pool.name, label) ?? []);
    return [...new Set(found)];
  }

  /** Fills the queue of a worker that is never started, so that it can {@link explain}. */
  observe(requests: Iterable<RequestRecord>): void {
    for (const request of requests) if (!judgeStanding(request, this)) this.#queue.put(request);
  }

  // --- what handlers see ------------------------------------------------------------------------------------------

  get runningProvider(): Provider {
    return this.runner.provider;
  }

  isLastToDecline(request: RequestRecord): Promise<boolean> {
    return this.host.candidates.isRefusedByAll(request, this.launcherId);
  }

  unlockLater(entry: string): void {
    this.host.unlockLater(entry);
  }

  acceptsNode(request: RequestRecord, node: NodeRecord): boolean {
    const handler = this.#handlers.get(request.id);
    return handler ? handler.acceptsNode(node) : (this.#driverFor(request).acceptsNode?.(node) ?? true);
  }

  /** The driver's side of a request that has not been accepted. */
  #driverFor(request: RequestRecord): NodeRequestHandler {
    const { provider } = this.runner;
    const known = this.#drivers.get(request);
    if (known?.provider === provider) return known.handler;
    const handler = provider.getRequestHandler(this.pool, request);
    this.#drivers.set(request, { provider, handler });
    return handler;
  }

  pauseChanged(): void {
    const paused = this.#pausedRequests();
    const before = this.pausedHandlers;
    this.pausedHandlers = paused.length;
    this.runner.setReservations(
      this.pool.name,
      paused.map(({ request, missing }) => ({
        request,
        need: sumResources(missing.map((label) => this.needOf(label))),
      })),
    );
    if (before > 0 !== paused.length > 0) this.#refreshAnnouncement();
    if (paused.length < before) this.host.reservationsEnded(this);
    this.wake();
  }

  standsInTheWay(request: RequestRecord): boolean {
    const { mirror } = this.services;
    const waiting = [...this.#pausedRequests(), ...this.foreignReservations];
    if (waiting.some((other) => compareRequests(other.request, request) < 0)) return true;
    for (const id of mirror.pendingRequests()) {
      const other = mirror.requests.get(id);
      if (!other || compareRequests(other, request) >= 0) continue;
      const held = mirror.allocatedTo(id).size;
      if (held > 0 && held < other.labels.length) return true;
    }
    return false;
  }

  planLaunch(label: string): PlannedLaunch {
    return this.runner.planLaunch(this.pool.name, this.needOf(label), () => {
      this.wake();
      if (this.maxConcurrency >= 0) this.host.reservationsEnded(this);
    });
  }

  // --- events -----------------------------------------------------------------------------------------------------

  /** Plans again, once for everything that happens in this turn. */
  wake(): void {
    if (this.#scheduled || this.stopping) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#pass();
    });
  }

  /** Looks at every request again, e.g. after the configuration or the registered pools changed. */
  reconsiderAll(): void {
    if (!this.#registered) return;
    for (const request of this.services.mirror.requests.values()) {
      if (request.state === 'requested') this.#consider(request);
    }
    this.wake();
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    const handler = this.#handlers.get(id);
    if (handler) {
      if (!after) handler.requestGone();
      return;
    }
    // room may have been kept for it
    if (before?.state === 'pending' && after?.state !== 'pending' && this.launches && this.#hasDemand()) this.wake();
    if (after) {
      if (this.#registered) this.#consider(after);
      return;
    }
    this.#retries.get(id)?.cancel?.();
    this.#retries.delete(id);
    if (this.#queue.remove(id)) this.wake();
  }

  #consider(request: RequestRecord): void {
    if (this.#handlers.has(request.id) || this.#declining.has(request.id)) return;
    if (this.host.isRecovering(request.id)) return;
    if (this.#retries.get(request.id)?.cancel) return;
    const verdict = judgeStanding(request, this);
    if (verdict === undefined) {
      if (this.#queue.put(request)) this.wake();
      return;
    }
    if (this.#queue.remove(request.id)) this.wake();
    if (verdict.action === 'decline') void this.#track(this.#decline(request, verdict.reason));
    else if (this.#isHopeless(request)) void this.#track(this.#fail(request));
  }

  #nodeFree(node: NodeRecord): void {
    // in another pool of the provider it may make room for this one
    const matters = node.provider === this.runner.name && (node.pool === this.pool.name || this.launches);
    if (matters && this.#hasDemand()) this.wake();
  }

  #nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (!before || !this.#hasDemand()) return;
    if (before.provider === this.runner.name && !after && this.runner.launches) this.wake();
  }

  #hasDemand(): boolean {
    return this.#queue.size > 0 || this.pausedHandlers > 0;
  }

  #poolsChanged({ before, after }: PoolChange): void {
    if (!this.#registered) {
      this.#noticeRegistration();
      return;
    }
    if (before && after && !changesStanding(before, after, this.priority)) return;
    this.reconsiderAll();
  }

  #noticeRegistration(): void {
    if (this.#registered || this.stopping || !this.#announcement.made) return;
    if (!this.host.registry.pools.some((pool) => pool.launcherId === this.launcherId)) return;
    this.#registered = true;
    this.#logger.info('Pool is registered', { labels: [...this.pool.labels.keys()] });
    this.reconsiderAll();
  }

  // --- decisions --------------------------------------------------------------------------------------------------

  /** A request that waits here as well keeps its own room. */
  get waitingElsewhere(): readonly Reservation[] {
    const heads = this.runner.headsBesides(this.pool.name);
    return heads.filter(({ request }) => !this.#queue.has(request.id) && !this.#handlers.has(request.id));
  }

  #pass(): void {
    if (!this.#canPlan()) {
      this.#setHead(undefined);
      return;
    }
    const plan = this.#plan();
    this.#setHead(plan.head);
    this.#apply(plan);
  }

  /** Accepted requests that the pool can no longer hold, or that want what it no longer has, are left out and put back. */
  #plan(): PoolPlan {
    const paused = this.#pausedRequests().filter(({ request }) => {
      if (!judgeDecline(request, this) && this.maxConcurrency !== 0) return true;
      this.#handlers.get(request.id)?.giveUp();
      return false;
    });
    return planPool(this, paused, this.#queue.groups(), compareRequests);
  }

  #setHead(head: Reservation | undefined): void {
    if (this.runner.setHead(this.pool.name, head)) this.host.reservationsEnded(this);
  }

  #canPlan(): boolean {
    const serves = !this.stopping && this.#registered && this.runner.running && this.host.isActive();
    return serves && this.#hasDemand();
  }

  /**
   * Looks at everything again, as a net under the watches.
   * @returns how many requests could go on that no event had woken
   */
  sweep(): number {
    if (this.#scheduled || !this.#canPlan()) return 0;
    const plan = this.#plan();
    this.#apply(plan);
    return plan.accept.length + plan.resume.length;
  }

  #pausedRequests(): PausedRequest[] {
    if (!this.pausesAtQuota) return [];
    return [...this.#handlers.values()].map((handler) => handler.paused).filter((item) => item !== undefined);
  }

  #apply(plan: PoolPlan): void {
    for (const { request, assignment } of plan.resume) this.#resume(request, assignment);
    for (const { request, assignment } of plan.accept) this.#accept(request, assignment);
    for (const item of plan.decline) {
      this.#queue.remove(item.request.id);
      void this.#track(this.#decline(item.request, item.reason));
    }
    if (plan.release) this.host.releaseNode(plan.release, 'a request waits for the room it takes');
  }

  #resume(request: RequestRecord, assignment: Assignment): void {
    const handler = this.#handlers.get(request.id);
    if (handler && this.#claim(assignment, handler)) handler.resume(assignment);
  }

  #accept(request: RequestRecord, assignment: Assignment): void {
    if (this.host.isRecovering(request.id)) return; // it keeps its place until we are told to look again
    const driver = this.#driverFor(request);
    if (!driver.imagesAvailable()) {
      this.#queue.remove(request.id);
      void this.#track(this.#decline(request, imagesUnavailable(request.labels)));
      return;
    }
    this.#drivers.delete(request);
    const handler = new RequestHandler(this.services, this, request, driver);
    if (!this.#claim(assignment, handler)) return;
    this.#queue.remove(request.id);
    this.#handlers.set(request.id, handler);
    const settle = this.promiseToTenant(request);
    void this.#track(
      handler
        .run(assignment)
        .finally(settle)
        .then((outcome) => this.#ended(handler, outcome)),
    );
  }

  #claim(assignment: Assignment, by: RequestHandler): boolean {
    const { mirror } = this.services;
    const claimed: NodeRecord[] = [];
    for (const { source } of assignment.parts) {
      if (source.kind !== 'node') continue;
      if (mirror.claim(source.node.id, by)) {
        claimed.push(source.node);
        continue;
      }
      for (const node of claimed) mirror.unclaim(node.id, by);
      this.wake();
      return false;
    }
    return true;
  }

  #ended(handler: RequestHandler, outcome: HandlerOutcome): void {
    const { id } = handler.request;
    this.#handlers.delete(id);
    this.services.metrics?.requestEnded(outcome, handler.request, this.provider, this.pool.name);
    this.pauseChanged();
    if (outcome === 'fulfilled' || outcome === 'gone') {
      this.#retries.delete(id);
      return;
    }
    if (outcome === 'abandoned') this.host.onAbandoned(handler.request, handler.epoch);
    if (outcome === 'busy') this.#lookAgainLater(id);
    else if (outcome === 'gave-way') this.#lookAgainLater(id, GAVE_WAY_PAUSE_MS);
    else this.lookAgain(id);
  }

  /** Looks at a request once more. */
  lookAgain(id: RequestId): void {
    const request = this.services.mirror.requests.get(id);
    if (request && !this.stopping) this.#consider(request);
    this.wake();
  }

  /** Somebody was quicker, or holds the lock: nothing may tell us when that ends, so look again soon. */
  #lookAgainLater(id: RequestId, firstMs = FIRST_RETRY_MS): void {
    const retry = this.#retries.get(id) ?? { attempts: 0, cancel: undefined };
    const { clock, random } = this.services;
    const pause = backoffMs(retry.attempts++, firstMs, Math.max(firstMs, LONGEST_RETRY_MS), random);
    retry.cancel = clock.setTimer(pause, () => {
      retry.cancel = undefined;
      if (!this.services.mirror.requests.get(id)) this.#retries.delete(id);
      else this.lookAgain(id);
    });
    this.#retries.set(id, retry);
  }

  /** Every pool has declined it, and the last one that had not has left the registry: nobody else will say so. */
  #isHopeless(request: RequestRecord): boolean {
    if (request.state !== 'requested' || !request.declinedBy.includes(this.launcherId)) return false;
    return this.host.candidates.seemsRefusedByAll(request);
  }

  #decline(request: RequestRecord, why: Reason): Promise<void> {
    return this.#refuse(request, why.text, async () =>
      declinedRequest(request, this.launcherId, why, await this.isLastToDecline(request), this.services.clock.now()),
    );
  }

  #fail(request: RequestRecord): Promise<void> {
    return this.#refuse(request, 'every registered pool has declined it', async () =>
      (await this.host.candidates.isRefusedByAll(request))
        ? withRequest(request, { state: 'failed' }, this.services.clock.now(), 'launcher')
        : undefined,
    );
  }

  /** @param decide - how the request is to be from now on; `undefined`: as it is, after all */
  async #refuse(request: RequestRecord, why: string, decide: () => Promise<RequestRecord | undefined>): Promise<void> {
    this.#declining.add(request.id);
    try {
      const next = await decide();
      if (!next) {
        this.#declining.delete(request.id);
        return;
      }
      const result = await writeUnlockedRequest(this.services, next);
      this.#declining.delete(request.id);
      if (result === 'busy' || result === 'changed') this.#lookAgainLater(request.id);
      if (result !== 'done') return;
      this.services.metrics?.requestEnded('declined', request, this.provider, this.pool.name);
      const { id: requestId, eventId } = request;
      this.#logger.info('Declined request', { requestId, eventId, reason: why, state: next.state });
      // meanwhile the last pool that had not declined it may have left
      this.lookAgain(request.id);
    } catch (error) {
      this.#declining.delete(request.id);
      this.#logger.warn('Could not decline a request', { requestId: request.id, error });
      this.#lookAgainLater(request.id);
    }
  }

  #refreshAnnouncement(): void {
    if (!this.stopping) this.#announcement.refresh();
  }

  #track(work: Promise<void>): Promise<void> {
    const run = work.finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }
}

/** A pool that pauses or not matters only to those it has precedence over. */
function changesStanding(before: PoolComponentRecord, after: PoolComponentRecord, ownPriority: number): boolean {
  if (before.paused !== after.paused && after.priority < ownPriority) return true;
  return (
    before.priority !== after.priority ||
    before.launcherId !== after.launcherId ||
    before.providerName !== after.providerName ||
    before.supportedLabels.length !== after.supportedLabels.length ||
    before.supportedLabels.some((label) => !after.supportedLabels.includes(label))
  );
}
