import type { NodeId, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { LazyAbort } from '../../async/lazy-abort.js';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { Services } from '../mirror/services.js';
import type { Assignment } from '../plan/types.js';
import { CollectedNodes } from './collected-nodes.js';
import type { HandlerPool } from './handler-pool.js';
import type { HeldRequest } from './held-request.js';
import { Launches } from './launches.js';
import type { NodeFate } from './release.js';
import { RequestParts, type Part } from './request-parts.js';
import { YieldTimer } from './yield-timer.js';

/**
 * What has been heard about a request at work.
 * - `gone` its znode is gone
 * - `draining` the pool ends: a request that waits for capacity is better served by another launcher
 * - `hopeless` nothing it waits for will ever come: it is put back, to be judged anew
 */
export type RequestEvent = 'gone' | 'draining' | 'hopeless';

type FulfilWith = (work: RequestWork, part: Part, changes: Partial<NodeRecord>) => Promise<NodeRecord | undefined>;

/** Made once: an error for each handler would have its stack recorded for no reader. */
const ENDED = new Error('the handler has ended');

/** The work on one request for one pool: what all its stages share. */
export class RequestWork {
  readonly services: Services;
  readonly pool: HandlerPool;
  readonly parts: RequestParts;
  readonly nodes: CollectedNodes;
  readonly launches: Launches;
  readonly yieldTimer: YieldTimer;
  readonly logger: Logger;
  /** What has been heard so far. */
  readonly heard = new Set<RequestEvent>();
  readonly #drivers = new Map<Provider, NodeRequestHandler>();
  readonly #end = new LazyAbort();
  readonly #resumed: { reused: Part[]; toLaunch: Part[] }[] = [];
  #request: RequestRecord;
  #held: HeldRequest | undefined;
  #paused = false;
  #fulfilled = false;
  #woken = false;
  #waiter: (() => void) | undefined;

  /**
   * @param driver - the running provider's side of the request
   * @param claimant - who has claimed its nodes in the mirror
   * @param fulfilWith - stores a ready node together with the end of the work, if it is the last; `undefined`: it is not
   */
  constructor(
    services: Services,
    pool: HandlerPool,
    request: RequestRecord,
    driver: NodeRequestHandler,
    claimant: object,
    fulfilWith: FulfilWith,
  ) {
    this.#drivers.set(pool.runningProvider, driver);
    this.services = services;
    this.pool = pool;
    this.#request = request;
    this.parts = new RequestParts(request.labels);
    const { id: requestId, eventId } = request;
    this.logger = services.logger.child({ requestId, eventId }, LOGGER_NAMES.requestHandler);
    const { parts, logger } = this;
    const end = this.#end;
    const driverNow = () => this.#driver;
    this.nodes = new CollectedNodes({
      ...{ services, parts, logger, claimant, end },
      driver: driverNow,
      wake: () => this.wake(),
      abandon: (cause) => this.abandon(cause),
    });
    this.launches = new Launches({
      ...{ services, pool, parts, end, logger },
      driver: driverNow,
      isFulfilled: () => this.#fulfilled,
      fulfilWith: (part, changes) => fulfilWith(this, part, changes),
    });
    const isInTheWay = () => parts.held().length > 0 && pool.standsInTheWay(this.#request);
    this.yieldTimer = new YieldTimer(services, isInTheWay, () => this.wake());
  }

  /** Why nothing may be touched any more; `undefined` while it may. */
  get abandonedFor(): Error | undefined {
    return this.#end.cause;
  }

  /** Fires when nothing may be touched any more. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The request as last written or read. */
  get request(): RequestRecord {
    return this.#request;
  }

  /** The request waits for capacity. */
  get isPaused(): boolean {
    return this.#paused;
  }

  /** The request has been fulfilled. */
  get isFulfilled(): boolean {
    return this.#fulfilled;
  }

  /** This process has locked the request. */
  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** The driver's side of the request; a reload may have replaced the provider since the request was accepted. */
  get #driver(): NodeRequestHandler {
    const { runningProvider: provider, pool } = this.pool;
    let driver = this.#drivers.get(provider);
    if (!driver) this.#drivers.set(provider, (driver = provider.getRequestHandler(pool, this.#request)));
    return driver;
  }

  // --- what is given to the request -------------------------------------------------------------------------------

  /** What an assignment takes counts at once: the next plan is made before this one has been carried out. */
  assign(assignment: Assignment): { reused: Part[]; toLaunch: Part[] } {
    this.launches.az ??= assignment.az;
    const { reused, toLaunch } = this.parts.assign(assignment);
    for (const part of toLaunch) part.planned = this.pool.planLaunch(part.label, () => this.request);
    return { reused, toLaunch };
  }

  /** Capacity for a paused request. */
  resume(assignment: Assignment): void {
    this.#resumed.push(this.assign(assignment));
    this.setPaused(false);
    this.wake();
  }

  /** Takes and launches what has been given to the request since it was accepted. */
  async takeResumed(): Promise<void> {
    for (let next = this.#resumed.shift(); next; next = this.#resumed.shift()) {
      this.launch(next.toLaunch);
      await this.nodes.take(this.#request, next.reused);
    }
  }

  /** @param stored - the records of the parts, where they have been stored already */
  launch(parts: readonly Part[], stored?: readonly NodeId[]): void {
    if (parts.length === 0) return;
    const running = this.launches.run(this.#request, parts, stored, () => this.wake());
    running.catch((error: unknown) => this.abandon(asError(error)));
  }

  /** Gives all nodes of the request back. Default: to whoever may want them. */
  async releaseNodes(fate: NodeFate = 'free'): Promise<void> {
    this.setPaused(false);
    await this.nodes.releaseAll(fate);
  }

  // --- the request's own record -----------------------------------------------------------------------------------

  /** The request is locked by this process from now on. */
  accepted(held: HeldRequest): void {
    this.#held = held;
    this.#refreshRequest();
  }

  /** The request is written as fulfilled; its lock goes in a moment. */
  fulfilled(): void {
    this.#fulfilled = true;
    this.pool.unlockLater(this.heldRequest().entry);
  }

  heldRequest(): HeldRequest {
    if (!this.#held) throw new Error('the request is not locked');
    return this.#held;
  }

  /** Another process wrote the request although we hold its lock: the work continues from what it says now. */
  async rereadRequest(): Promise<void> {
    const before = this.#request.stat?.version;
    await this.services.mirror.requests.settle();
    this.#refreshRequest();
    if (this.#request.stat?.version === before) throw new Error('the request was changed while locked');
  }

  #refreshRequest(): void {
    this.#request = this.services.mirror.requests.get(this.#request.id) ?? this.#request;
  }

  // --- events -----------------------------------------------------------------------------------------------------

  /** Something was heard about the request. */
  tell(event: RequestEvent): void {
    this.heard.add(event);
    this.wake();
  }

  /** The session is over, or the process ends now: nothing may be touched any more. */
  abandon(cause: Error): void {
    this.#end.abort(cause);
    this.wake();
  }

  setPaused(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    if (paused) this.yieldTimer.begin();
    else this.yieldTimer.end();
    this.pool.pauseChanged();
  }

  /** Something has changed that the stage at work must look at. */
  wake(): void {
    this.#woken = true;
    this.#waiter?.();
  }

  /** Resolves when something has changed since it was last called. */
  async nextEvent(): Promise<void> {
    if (!this.#woken) await new Promise<void>((resolve) => (this.#waiter = resolve));
    this.#waiter = undefined;
    this.#woken = false;
  }

  /** The work has ended: what it promised and claimed is given back. */
  close(): void {
    this.setPaused(false);
    this.#end.abort(ENDED);
    this.nodes.unclaimAll();
    for (const part of this.parts.all) part.planned?.ended(undefined);
  }
}
