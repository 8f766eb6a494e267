import type { CancelTimer, NodeId, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { LazyAbort } from '../../async/lazy-abort.js';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { isProbe } from '../plan/health-rules.js';
import type { PausedRequest } from '../plan/plan-pool.js';
import type { Assignment } from '../plan/types.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import type { RequestAtWork } from '../view/pool-demand.js';
import type { LivePoolView } from '../view/pool-view.js';
import type { HeldRequest } from './held.js';
import type { LateUnlocks } from './late-unlocks.js';
import { RequestParts, type Part } from './parts.js';

/** A request gives way after this time or up to twice as long, so that not all that wait give way at the same moment. */
const YIELD_MS = 30_000;
/** Made once: an error for each request would have its stack recorded for no reader. */
const ENDED = new Error('the work on the request has ended');

/** What the work on a request uses, beside the context. */
export interface RequestTools {
  /** The pool that works on it. */
  readonly view: LivePoolView;
  readonly registry: PoolRegistry;
  readonly unlocks: LateUnlocks;
}

/**
 * What has been heard about a request at work.
 * - `gone` its znode is gone
 * - `draining` the pool ends: a request that waits for capacity is better served by another launcher
 * - `hopeless` nothing it waits for will ever come: it is put back, to be judged anew
 */
export type RequestNews = 'gone' | 'draining' | 'hopeless';

/** The work on one request by one pool: what its stages share, see `serve.ts`. */
export class RequestWork implements RequestAtWork {
  readonly context: Context;
  readonly tools: RequestTools;
  readonly parts: RequestParts;
  readonly logger: Logger;
  /** The session everything of this work belongs to. */
  readonly epoch: number;
  readonly heard = new Set<RequestNews>();
  /** Assignments that came while the request waited for capacity, and are to be carried out. */
  readonly resumed: { readonly reused: readonly Part[]; readonly toLaunch: readonly Part[] }[] = [];
  /** Records that are being made. */
  readonly creating = new Set<Promise<unknown>>();
  /** Zone all new nodes of the request share, once chosen. */
  az: string | null = null;
  /** The lock of the request, once this process has it. */
  held: HeldRequest | undefined;
  readonly #end = new LazyAbort();
  #driver: { readonly provider: Provider; readonly driver: NodeRequestHandler };
  #request: RequestRecord;
  #isPaused = false;
  #isFulfilled = false;
  #isToGiveWay = false;
  #cancelYield: CancelTimer | undefined;
  #isWoken = false;
  #wake: (() => void) | undefined;

  /** The driver's side of the request is the one that was asked whether it can be accepted. */
  constructor(context: Context, tools: RequestTools, request: RequestRecord) {
    this.context = context;
    this.tools = tools;
    this.epoch = context.zk.sessionEpoch;
    this.#request = request;
    this.#driver = { provider: tools.view.runner.provider, driver: tools.view.drivers.take(request) };
    this.parts = new RequestParts(request.labels);
    const { id: requestId, eventId } = request;
    this.logger = context.logger.child({ requestId, eventId }, LOGGER_NAMES.requestHandler);
  }

  get request(): RequestRecord {
    return this.#request;
  }

  get view(): LivePoolView {
    return this.tools.view;
  }

  /** The driver's side of the request; a reload may have replaced the provider since it was accepted. */
  get driver(): NodeRequestHandler {
    const { runner, pool } = this.view;
    if (this.#driver.provider !== runner.provider) {
      this.#driver = { provider: runner.provider, driver: runner.provider.getRequestHandler(pool, this.#request) };
    }
    return this.#driver.driver;
  }

  /** Why nothing may be touched any more; `undefined` while it may. */
  get abandonedFor(): Error | undefined {
    return this.#end.cause;
  }

  /** Fires when nothing may be touched any more. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  get isFulfilled(): boolean {
    return this.#isFulfilled;
  }

  /** It holds what another request with a better place may wait for. */
  get isToGiveWay(): boolean {
    return this.#isToGiveWay;
  }

  get paused(): PausedRequest | undefined {
    const { request, parts, az } = this;
    return this.#isPaused ? { request, missing: parts.missingLabels(), az } : undefined;
  }

  acceptsNode(node: NodeRecord): boolean {
    return this.driver.acceptsNode?.(node) ?? true;
  }

  // --- what is given to the request -------------------------------------------------------------------------------

  /** What an assignment takes counts at once: the next plan is made before this one has been carried out. */
  assign(assignment: Assignment): { readonly reused: readonly Part[]; readonly toLaunch: readonly Part[] } {
    this.az ??= assignment.az;
    const { reused, toLaunch } = this.parts.assign(assignment);
    const { provider, pool } = this.view;
    for (const part of toLaunch) {
      const { label } = part;
      part.launch = { provider, pool: pool.name, label, request: this.#request.id, need: this.view.needOf(label) };
      this.context.events.emit('launchBegun', { launch: part.launch });
    }
    return { reused, toLaunch };
  }

  /** Capacity for a request that waits for it. Nodes named must be claimed in the mirror, in the name of this work. */
  resume(assignment: Assignment): void {
    this.resumed.push(this.assign(assignment));
    this.setPaused(false);
    this.wake();
  }

  /** Gives a claim in the mirror back. */
  unclaim(id: NodeId): void {
    this.context.mirror.unclaim(id, this);
  }

  // --- the request's own record -----------------------------------------------------------------------------------

  /** This process has locked the request. */
  accepted(held: HeldRequest): void {
    this.held = held;
    this.#refresh();
  }

  /** The request is written as fulfilled; its lock goes in a moment. */
  fulfilled(): void {
    this.#isFulfilled = true;
    this.tools.unlocks.keep(this.lock.entry);
    this.logger.info('Fulfilled request', { nodes: this.parts.nodeIds() });
  }

  get lock(): HeldRequest {
    if (!this.held) throw new Error('the request is not locked');
    return this.held;
  }

  /** Another process wrote the request although we hold its lock: the work continues from what it says now. */
  async reread(): Promise<void> {
    const before = this.#request.stat?.version;
    await this.context.mirror.requests.settle();
    this.#refresh();
    if (this.#request.stat?.version === before) throw new Error('the request was changed while locked');
  }

  #refresh(): void {
    this.#request = this.context.mirror.requests.get(this.#request.id) ?? this.#request;
  }

  // --- news -------------------------------------------------------------------------------------------------------

  /** Something was heard about the request. */
  tell(news: RequestNews): void {
    this.heard.add(news);
    this.wake();
  }

  /** The request's znode is gone. Of a probe nothing is kept: its launch is broken off. */
  requestGone(): void {
    const isBrokenOff = isProbe(this.#request) && this.parts.has('working') && !this.#isFulfilled;
    if (isBrokenOff) this.abandon(new Error('the probe was withdrawn'));
    else this.tell('gone');
  }

  /** The session is over, or the process ends now: nothing may be touched any more. */
  abandon(cause: unknown): void {
    this.#stop(asError(cause));
    this.wake();
  }

  /** The request begins or ceases to wait for capacity. */
  setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#cancelYield?.();
    this.#isToGiveWay = false;
    if (isPaused) this.#waitToGiveWay();
    const { provider, pool } = this.view;
    this.context.events.emit('waitChanged', { provider, pool: pool.name });
  }

  /**
   * How long it may hold the nodes it has while another request may need them. Requests that each hold a part of what the
   * other waits for would wait indefinitely: pools share a quota, and each of several launchers sees to its own requests
   * only (ADR 0015).
   */
  #waitToGiveWay(): void {
    const { clock, random } = this.context;
    this.#cancelYield = clock.setTimer(YIELD_MS * (1 + random()), () => {
      if (this.parts.held().length === 0 || !this.view.blocksOthers(this.#request)) return this.#waitToGiveWay();
      this.#isToGiveWay = true;
      this.wake();
    });
  }

  /** Something has changed that the stage at work must look at. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Resolves when something has changed since it was last called. */
  async nextEvent(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    this.#isWoken = false;
  }

  /** The work has ended: what it promised and claimed is given back. */
  close(): void {
    this.setPaused(false);
    // Firing a signal is what a request for ready nodes costs most; nothing listens once its nodes are checked.
    if (this.#isFulfilled && this.parts.all.every(({ launch }) => launch === undefined)) this.#end.end(ENDED);
    else this.#stop(ENDED);
    for (const id of this.parts.nodeIds()) this.unclaim(id);
    for (const { launch } of this.parts.all)
      if (launch) this.context.events.emit('launchEnded', { launch, state: undefined });
  }

  #stop(cause: Error): void {
    this.#end.abort(cause);
    for (const part of this.parts.all) {
      part.readyChanges?.failed(cause);
      part.readyChanges = undefined;
    }
  }
}
