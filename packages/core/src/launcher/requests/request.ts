import { steadyNow, type CancelTimer, type NodeId, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { LazyAbort } from '../../async/lazy-abort.js';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import { findAlternative, isProbe } from '../plan/health-rules.js';
import type { PausedRequest } from '../plan/plan-pool.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import type { Assignment, Reason } from '../plan/types.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';
import { isUnreadable } from '../state/unreadable.js';
import type { RequestAtWork } from '../view/pool-demand.js';
import type { LivePoolView } from '../view/pool-view.js';
import type { DelayedUnlocks } from './delayed-unlocks.js';
import type { LaunchTurns } from './launch-turns.js';
import { RequestParts, type LaunchPart, type Part } from './request-parts.js';

/** The shortest time until a request gives way; up to twice as long, so that not all give way at the same moment. */
const YIELD_MS = 30_000;
/** Shared by all requests, to save recording a stack for each. */
const ENDED = new Error('the work on the request has ended');

/** The objects that the work on a request uses, beside the context. */
export interface RequestTools {
  /** The pool that works on the request. */
  readonly view: LivePoolView;
  readonly registry: PoolRegistry;
  readonly unlocks: DelayedUnlocks;
  readonly turns: LaunchTurns;
  readonly waits: Waits;
}

/** What is to know that accepted requests of a pool wait for more or less than before. */
export interface Waits {
  waitChanged(provider: string, pool: string): void;
}

/** The parts that an assignment serves with ready nodes, and those to launch. */
export interface AssignedParts {
  readonly reused: readonly Part[];
  readonly toLaunch: readonly LaunchPart[];
}

/**
 * News about a request at work.
 * - `gone` its znode was deleted
 * - `draining` the pool ends: another launcher should serve a request that waits for capacity
 * - `hopeless` it can no longer be satisfied here: return it to the queue for re-evaluation
 */
export type RequestNews = 'gone' | 'draining' | 'hopeless';

/** How the work on an accepted request ends without its nodes. */
export type GivenUp =
  /** @param launchError - stored in the request for its requestor; `null`: nothing is */
  | { readonly kind: 'decline'; readonly reason: Reason; readonly launchError: string | null }
  /** It cannot be served now: it is `requested` again. */
  | { readonly kind: 'put-back'; readonly why: string }
  /** Its nodes are deleted to free capacity for another request; it is `requested` again. */
  | { readonly kind: 'give-way' }
  /** Its requestor has withdrawn it. */
  | { readonly kind: 'withdrawn' };

/**
 * A stage of the work on a request.
 * - `accepting` the request and the first nodes are being locked
 * - `collecting` nodes are being checked and launched
 * - `paused` the request waits for capacity for missing nodes; others may be checked and launched meanwhile
 * - `fulfilling` `fulfilled` is being written, together with the last node if its launch waits for that
 * - `giving-up` another outcome is being written
 */
export type Stage =
  | { readonly name: 'accepting'; readonly assignment: Assignment }
  | { readonly name: 'collecting' }
  | { readonly name: 'paused' }
  | { readonly name: 'fulfilling'; readonly last: Part | undefined }
  | { readonly name: 'giving-up'; readonly how: GivenUp };

/** The result of a stage: another stage, or the end. */
export type Step = Stage | { readonly name: 'ended'; readonly outcome: RequestOutcome };

/** The steps of some names. */
export type StepTo<Name extends Step['name']> = Extract<Step, { readonly name: Name }>;

/** The state of the work on one request by one pool, shared by its stages; see `stages.ts`. */
export class RequestWork implements RequestAtWork {
  readonly context: Context;
  readonly tools: RequestTools;
  readonly parts: RequestParts;
  readonly logger: Logger;
  /** The session that this work belongs to. */
  readonly epoch: number;
  readonly heard = new Set<RequestNews>();
  /** Assignments made while the request waited for capacity, and not carried out yet. */
  readonly assigned: AssignedParts[] = [];
  /** Node records that are being created. */
  readonly creating = new Set<Promise<unknown>>();
  /** Whether the request was lost: another launcher had accepted it before. */
  readonly wasLost: boolean;
  /** When the work began. Steady time. */
  readonly sinceMs: number;
  /** The zone that all new nodes of the request share, once chosen. */
  az: string | null = null;
  /** Path of our entry in the lock of the request. */
  #lockEntry: string | undefined;
  readonly #end = new LazyAbort();
  #handler: { readonly provider: Provider; readonly handler: NodeRequestHandler };
  #request: RequestRecord;
  #isPaused = false;
  #isFulfilled = false;
  #isToGiveWay = false;
  #cancelYield: CancelTimer | undefined;
  #isWoken = false;
  #wake: (() => void) | undefined;

  /** Takes the driver's handler that was asked whether the request can be accepted. */
  constructor(context: Context, tools: RequestTools, request: RequestRecord) {
    this.context = context;
    this.tools = tools;
    this.epoch = context.zk.sessionEpoch;
    this.#request = request;
    this.wasLost = request.state === 'pending';
    this.sinceMs = steadyNow(context.clock);
    this.#handler = { provider: tools.view.runner.provider, handler: tools.view.takeHandler(request) };
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

  /** The driver's handler of the request. After a reload that replaced the provider, a new one. */
  get handler(): NodeRequestHandler {
    const { runner, pool } = this.view;
    if (this.#handler.provider !== runner.provider) {
      this.#handler = { provider: runner.provider, handler: runner.provider.getRequestHandler(pool, this.#request) };
    }
    return this.#handler.handler;
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

  /** Whether it holds nodes or capacity that a request ahead of it may wait for. */
  get isToGiveWay(): boolean {
    return this.#isToGiveWay;
  }

  get paused(): PausedRequest | undefined {
    const { request, parts, az } = this;
    return this.#isPaused ? { request, missing: parts.missingLabels(), az } : undefined;
  }

  acceptsNode(node: NodeRecord): boolean {
    return this.handler.acceptsNode?.(node) ?? true;
  }

  // --- assignments ------------------------------------------------------------------------------------------------

  /** Applies an assignment. Its launches count at once, as the next plan may be made before they start. */
  assign(assignment: Assignment): AssignedParts {
    this.az ??= assignment.az;
    const { reused, toLaunch } = this.parts.assign(assignment);
    for (const part of reused) if (part.node && part.node.state !== 'ready') this.#beginLaunch(part);
    return { reused, toLaunch: toLaunch.map((part) => this.#beginLaunch(part)) };
  }

  #beginLaunch(part: Part): LaunchPart {
    const { provider, pool } = this.view;
    const { label, node } = part;
    const need = this.view.needOf(label);
    const isLastResort = this.#isLastResort(label);
    const launch = { provider, pool: pool.name, label, request: this.#request.id, need, isLastResort, node };
    this.context.events.emit('launchBegun', { launch });
    return Object.assign(part, { launch, unwanted: new LazyAbort() });
  }

  /** Whether the launch is made although something fails, as no other provider could serve the request. */
  #isLastResort(label: string): boolean {
    const { steering } = this.view;
    if (!steering || (steering.isWell && !steering.isFailing(label)) || isProbe(this.#request)) return false;
    return findAlternative(this.#request, this.view) === undefined;
  }

  /** Gives nodes to a request that waits for capacity. The nodes of the assignment must be claimed in the mirror for this work. */
  unpause(assignment: Assignment): void {
    this.assigned.push(this.assign(assignment));
    this.setPaused(false);
    this.wake();
  }

  /** Gives up a claim in the mirror. */
  unclaim(id: NodeId): void {
    this.context.mirror.unclaim(id, this);
  }

  // --- the request's record ---------------------------------------------------------------------------------------

  /** This process has locked the request. @param lockEntry - path of our entry in the lock */
  accepted(lockEntry: string): void {
    this.#lockEntry = lockEntry;
    this.#refresh();
  }

  /** The request is written as fulfilled; its lock is released a moment later. */
  fulfilled(): void {
    this.#isFulfilled = true;
    this.tools.unlocks.keep(this.lockEntry);
    this.logger.info('Fulfilled request', { nodes: this.parts.nodeIds() });
  }

  /** Whether this process has locked the request. */
  get isLocked(): boolean {
    return this.#lockEntry !== undefined;
  }

  /** Path of our entry in the lock of the request. */
  get lockEntry(): string {
    if (this.#lockEntry === undefined) throw new Error('the request is not locked');
    return this.#lockEntry;
  }

  /** Reads the request again, after another process wrote it although we hold its lock. @returns false if it cannot be read */
  async reread(): Promise<boolean> {
    const { requests } = this.context.mirror;
    const { id, stat } = this.#request;
    await requests.settle();
    this.#refresh();
    if (isUnreadable(requests, id)) return false;
    if (requests.get(id)?.stat?.version === stat?.version) throw new Error('the request was changed while locked');
    return true;
  }

  #refresh(): void {
    this.#request = this.context.mirror.requests.get(this.#request.id) ?? this.#request;
  }

  // --- news -------------------------------------------------------------------------------------------------------

  /** Notes news about the request. */
  notify(news: RequestNews): void {
    this.heard.add(news);
    this.wake();
  }

  /** The request's znode was deleted. The launch of a probe is aborted, others when no request needs the node. */
  requestGone(): void {
    const isAborted = isProbe(this.#request) && this.parts.has('working') && !this.#isFulfilled;
    if (isAborted) this.abandon(new Error('the probe was withdrawn'));
    else this.notify('gone');
  }

  /** Ends the work without any further write, e.g. because the session has ended or the process exits. */
  abandon(cause: unknown): void {
    this.#stop(asError(cause));
    this.wake();
  }

  /** The request starts or stops waiting for capacity. */
  setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#cancelYield?.();
    this.#isToGiveWay = false;
    if (isPaused) this.#waitToGiveWay();
    const { provider, pool } = this.view;
    this.tools.waits.waitChanged(provider, pool.name);
  }

  /**
   * Limits how long the request holds nodes that another request may need. Two requests that each hold part of what the other
   * waits for would wait indefinitely: pools share a quota, and each launcher serves its own requests only (ADR 0015).
   */
  #waitToGiveWay(): void {
    const { clock, random } = this.context;
    this.#cancelYield = clock.setTimer(YIELD_MS * (1 + random()), () => {
      if (this.parts.held().length === 0 || !this.view.blocksOthers(this.#request)) return this.#waitToGiveWay();
      this.#isToGiveWay = true;
      this.wake();
    });
  }

  /** Lets the current stage check for changes. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Resolves on the first {@link wake} since the last call. */
  async nextEvent(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    this.#isWoken = false;
  }

  /** Ends the work: gives up its promises and claims. */
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
