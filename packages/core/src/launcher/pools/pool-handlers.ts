import {
  compareRequests,
  type LauncherId,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
  type Resources,
} from '@nodepool/zk-protocol';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import { sumResources } from '../../contract/resources.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import type { Services } from '../mirror/services.js';
import type { PausedRequest } from '../plan/plan-pool.js';
import { reason } from '../plan/candidates.js';
import { findSuccessor, isProbe } from '../plan/health-rules.js';
import type { Assignment, Reason } from '../plan/types.js';
import { failureKindOf } from '../steering/failure.js';
import { RequestHandler } from '../requests/handler.js';
import type { HandlerPool } from '../requests/handler-pool.js';
import type { PlannedLaunch } from '../requests/planned-launch.js';
import type { PoolPort } from './pool-port.js';
import type { LivePoolView } from './pool-view.js';

/** A request that has given way is not taken up again before the capacity it freed has reached others. */
const GAVE_WAY_PAUSE_MS = 30_000;

/** What the handlers of a pool are told about the rest of it. */
export interface PoolHandlersOptions {
  readonly services: Services;
  readonly port: Pick<PoolPort, 'candidates' | 'unlockLater' | 'reservationsEnded' | 'onAbandoned'>;
  readonly view: LivePoolView;
  /** Keeps account of work that the end of the pool waits for. */
  readonly track: (work: Promise<void>) => void;
  /** Plans again. */
  readonly wake: () => void;
  /** The pool began or ceased to have accepted requests that wait for capacity. */
  readonly pauseChanged: () => void;
  /** The request is to be judged anew, at once or after some time. */
  readonly lookAgain: (id: RequestId) => void;
  readonly lookAgainLater: (id: RequestId, firstMs?: number) => void;
  /** Nothing is left to do for the request here. */
  readonly forgetRetries: (id: RequestId) => void;
}

/** The requests that one pool has accepted, and what their handlers know of the pool. */
export class PoolHandlers implements HandlerPool {
  readonly #options: PoolHandlersOptions;
  readonly #handlers = new Map<RequestId, RequestHandler>();
  #pausedCount = 0;

  constructor(options: PoolHandlersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#handlers.size;
  }

  /** Accepted requests that wait for capacity. */
  get pausedCount(): number {
    return this.#pausedCount;
  }

  get(id: RequestId): RequestHandler | undefined {
    return this.#handlers.get(id);
  }

  has(id: RequestId): boolean {
    return this.#handlers.has(id);
  }

  /** What accepted requests wait for; none where the driver's requests do not wait. */
  pausedRequests(): PausedRequest[] {
    if (!this.pausesAtQuota) return [];
    return [...this.#handlers.values()].map((handler) => handler.paused).filter((item) => item !== undefined);
  }

  // --- work -------------------------------------------------------------------------------------------------------

  /**
   * Begins to work on a request with the nodes of the assignment.
   * @returns false when one of them is no longer free; then nothing has begun
   */
  accept(request: RequestRecord, assignment: Assignment, driver: NodeRequestHandler): boolean {
    const { services, track } = this.#options;
    const handler = new RequestHandler(services, this, request, driver);
    if (!this.#claim(assignment, handler)) return false;
    this.#handlers.set(request.id, handler);
    const settle = this.#promiseToTenant(request);
    track(
      handler
        .run(assignment)
        .finally(settle)
        .then((outcome) => this.#ended(handler, outcome)),
    );
    return true;
  }

  /** Gives more nodes to a request that waits for capacity. */
  resume({ id }: RequestRecord, assignment: Assignment): void {
    const handler = this.#handlers.get(id);
    if (handler && this.#claim(assignment, handler)) handler.resume(assignment);
  }

  /** Requests that wait for capacity are better served by another launcher. */
  putBackPaused(): void {
    for (const handler of this.#handlers.values()) handler.putBackIfPaused();
  }

  /** Ends all work without touching anything. */
  abandon(cause: Error): void {
    for (const handler of this.#handlers.values()) handler.abandon(cause);
  }

  #claim(assignment: Assignment, by: RequestHandler): boolean {
    const { mirror } = this.#options.services;
    const claimed: NodeRecord[] = [];
    for (const { source } of assignment.parts) {
      if (source.kind !== 'node') continue;
      if (mirror.claim(source.node.id, by)) {
        claimed.push(source.node);
        continue;
      }
      for (const node of claimed) mirror.unclaim(node.id, by);
      this.#options.wake();
      return false;
    }
    return true;
  }

  /**
   * Counts what a request will get for its tenant from the moment it is accepted.
   * @returns to be called when the work on it has ended
   */
  #promiseToTenant(request: RequestRecord): () => void {
    const nodes = request.labels.map((label) => ({ label, need: this.needOf(label) }));
    return this.#options.services.mirror.usage.promise(request, nodes);
  }

  #ended(handler: RequestHandler, outcome: RequestOutcome): void {
    const { services, port, view, lookAgain, lookAgainLater, forgetRetries } = this.#options;
    const { id } = handler.request;
    this.#handlers.delete(id);
    const { provider, pool } = view;
    services.events.emit('requestEnded', { outcome, request: handler.request, provider, pool: pool.name });
    this.pauseChanged();
    if (outcome === 'fulfilled' || outcome === 'gone') {
      forgetRetries(id);
      return;
    }
    if (outcome === 'abandoned') port.onAbandoned(handler.request, handler.epoch);
    if (outcome === 'busy') lookAgainLater(id);
    else if (outcome === 'gave-way') lookAgainLater(id, GAVE_WAY_PAUSE_MS);
    else lookAgain(id);
  }

  // --- what handlers see ------------------------------------------------------------------------------------------

  get launcherId(): LauncherId {
    return this.#options.view.launcherId;
  }

  get providerName(): string {
    return this.#options.view.provider;
  }

  get pool(): PoolConfig {
    return this.#options.view.pool;
  }

  get runningProvider(): Provider {
    return this.#options.view.runner.provider;
  }

  get pausesAtQuota(): boolean {
    return this.#options.view.pausesAtQuota;
  }

  needOf(label: string): Resources {
    return this.#options.view.needOf(label);
  }

  isLastToDecline(request: RequestRecord): Promise<boolean> {
    return this.#options.port.candidates.isRefusedByAll(request, this.launcherId);
  }

  unlockLater(entry: string): void {
    this.#options.port.unlockLater(entry);
  }

  pauseChanged(): void {
    const { view, port, pauseChanged, wake } = this.#options;
    const paused = this.pausedRequests();
    const before = this.#pausedCount;
    this.#pausedCount = paused.length;
    const reservations = paused.map(({ request, missing }) => ({
      request,
      need: sumResources(missing.map((label) => this.needOf(label))),
    }));
    view.runner.setReservations(view.pool.name, reservations);
    if (before > 0 !== paused.length > 0) pauseChanged();
    if (paused.length < before) port.reservationsEnded(view.provider, view.pool.name);
    wake();
  }

  standsInTheWay(request: RequestRecord): boolean {
    const { mirror } = this.#options.services;
    const waiting = [...this.pausedRequests(), ...this.#options.view.foreignReservations];
    if (waiting.some((other) => compareRequests(other.request, request) < 0)) return true;
    for (const id of mirror.pendingRequests()) {
      const other = mirror.requests.get(id);
      if (!other || compareRequests(other, request) >= 0) continue;
      const held = mirror.allocatedTo(id).size;
      if (held > 0 && held < other.labels.length) return true;
    }
    return false;
  }

  planLaunch(label: string, request: () => RequestRecord): PlannedLaunch {
    const { services, view, port, wake } = this.#options;
    const place = { provider: view.provider, pool: view.pool.name, label };
    const counted = services.mirror.labelUse.promise(place);
    const ofProvider = view.runner.planLaunch(view.pool.name, this.needOf(label), () => {
      wake();
      if (view.maxConcurrency >= 0 || view.launchLimit < Infinity)
        port.reservationsEnded(view.provider, view.pool.name);
    });
    const planned = withEnd(ofProvider, counted);
    const steered = view.steering?.begin(label);
    if (!steered) return planned;
    return {
      ...planned,
      recorded: (zone) => {
        planned.recorded(zone);
        steered.placed(zone);
      },
      created: () => steered.created(),
      attemptFailed: (error) => steered.attemptFailed(error) === 'own' || !isEnough(request(), view),
      ended: (result) => {
        steered.ended(result?.state === 'ready');
        planned.ended(result);
      },
    };
  }

  handOver(request: RequestRecord, label: string, error: Error): Reason | undefined {
    const { view } = this.#options;
    if (!view.steering || failureKindOf(error) === 'own') return undefined;
    const other = findSuccessor(request, view);
    if (!other) return undefined;
    const pool = `${other.providerName}/${other.name}`;
    return reason(
      'failed-over',
      `launch of "${label}" failed, and pool "${pool}" can serve the request: ${error.message}`,
      `pool "${pool}" serves it; were all others to decline, it would come back`,
      { label, provider: other.providerName, pool: other.name },
    );
  }
}

/** One attempt is enough: another provider can serve the request, or it was only to find out. */
function isEnough(request: RequestRecord, view: LivePoolView): boolean {
  return isProbe(request) || findSuccessor(request, view) !== undefined;
}

/** @param settle - called once there is a record, or will be none; more calls do nothing */
function withEnd(planned: PlannedLaunch, settle: () => void): PlannedLaunch {
  return {
    ...planned,
    recorded(zone) {
      planned.recorded(zone);
      settle();
    },
    ended(result) {
      planned.ended(result);
      settle();
    },
  };
}
