import { setMaxListeners } from 'node:events';
import { isZooKeeperError, withRequest, type NodeId, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { NodeRequestHandler, Provider } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import type { PausedRequest } from '../plan/plan-pool.js';
import { reason } from '../plan/rules.js';
import type { Assignment, Reason } from '../plan/types.js';
import { allocate, NODES_PER_TRANSACTION, type Subject } from './allocation.js';
import { declinedRequest } from './decline.js';
import type { HandlerOutcome, HandlerPool } from './handler-pool.js';
import { HeldRequest } from './held-request.js';
import { Launches } from './launches.js';
import { Patience } from './patience.js';
import { releaseNodes, type NodeFate } from './release.js';
import { RequestParts, type Part } from './request-parts.js';
import type { Services } from '../mirror/services.js';
import { Transaction } from './transaction.js';

/** A node that somebody else was quicker to take, or that did not answer, is left alone this long. */
const BUSY_NODE_PAUSE_MS = 50;
/** Keeps the transaction that fulfils a request far below ZooKeeper's limit of 1 MiB. */
const UNLOCKS_PER_TRANSACTION = 1_000;

/** Made once: an error for each handler would have its stack recorded for nobody. */
const ENDED = new Error('the handler has ended');

/** Works one request for one pool: collects its nodes and fulfils it. */
export class RequestHandler {
  readonly #services: Services;
  readonly #pool: HandlerPool;
  readonly #drivers = new WeakMap<Provider, NodeRequestHandler>();
  readonly #logger: Logger;
  readonly #parts: RequestParts;
  readonly #launches: Launches;
  readonly #patience: Patience;
  readonly #abort = new AbortController();
  /** The session everything of this handler belongs to. */
  readonly epoch: number;
  #request: RequestRecord;
  #held: HeldRequest | undefined;
  #gone = false;
  #draining = false;
  #paused = false;
  #givesUp = false;
  readonly #resumed: { reused: Part[]; toLaunch: Part[] }[] = [];
  #woken = false;
  #waiter: (() => void) | undefined;

  /** @param driver - the running provider's side of it */
  constructor(services: Services, pool: HandlerPool, request: RequestRecord, driver: NodeRequestHandler) {
    this.#drivers.set(pool.runningProvider, driver);
    this.#services = services;
    this.#pool = pool;
    this.#request = request;
    this.epoch = services.zk.sessionEpoch;
    setMaxListeners(0, this.#abort.signal); // several for each node being launched or checked
    this.#parts = new RequestParts(request.labels);
    this.#logger = services.logger.child(
      { requestId: request.id, eventId: request.eventId },
      LOGGER_NAMES.requestHandler,
    );
    this.#launches = new Launches(services, pool, () => this.#driver, this.#parts, this.#abort.signal, this.#logger);
    const isInTheWay = () => this.#parts.held().length > 0 && pool.standsInTheWay(this.#request);
    this.#patience = new Patience(services, isInTheWay, () => this.#wake());
  }

  /** The request as last written or read. */
  get request(): RequestRecord {
    return this.#request;
  }

  /** The driver's side of this handler; a reload may have replaced the provider since the request was accepted. */
  get #driver(): NodeRequestHandler {
    const { runningProvider: provider, pool } = this.#pool;
    let driver = this.#drivers.get(provider);
    if (!driver) this.#drivers.set(provider, (driver = provider.getRequestHandler(pool, this.#request)));
    return driver;
  }

  /** Whether the driver would have a node serve this request. */
  acceptsNode(node: NodeRecord): boolean {
    return this.#driver.acceptsNode?.(node) ?? true;
  }

  /** What the request still lacks while it waits for capacity. */
  get paused(): PausedRequest | undefined {
    if (!this.#paused) return undefined;
    return { request: this.#request, missing: this.#parts.missingLabels(), az: this.#launches.az };
  }

  /** The process stops: a request that waits for capacity is better served by another launcher. */
  putBackIfPaused(): void {
    this.#draining = true;
    this.#wake();
  }

  /** Nothing the request waits for will ever come: it is put back, to be judged anew. */
  giveUp(): void {
    this.#givesUp = true;
    this.#wake();
  }

  /** The request's znode is gone. */
  requestGone(): void {
    this.#gone = true;
    this.#wake();
  }

  /** Capacity for a paused request. Nodes named must be claimed in the mirror by the caller. */
  resume(assignment: Assignment): void {
    this.#resumed.push(this.#assign(assignment));
    this.#setPaused(false);
    this.#wake();
  }

  /** The session is over, or the process ends now: stop without touching anything. */
  abandon(cause: Error): void {
    this.#abort.abort(cause);
    this.#wake();
  }

  /**
   * Does the work. Never rejects. Nodes named by the assignment must be claimed in the mirror by the caller; the handler
   * gives the claims back.
   */
  async run(assignment: Assignment): Promise<HandlerOutcome> {
    try {
      return (await this.#accept(assignment)) ? await this.#work() : 'busy';
    } catch (error) {
      return await this.#escape(error);
    } finally {
      this.#setPaused(false);
      this.#abort.abort(ENDED);
      for (const id of this.#parts.nodeIds()) this.#services.mirror.unclaim(id, this);
      for (const part of this.#parts.all) part.planned?.ended(undefined);
    }
  }

  /** What an assignment takes counts at once: the next plan is made before this one has been carried out. */
  #assign(assignment: Assignment): { reused: Part[]; toLaunch: Part[] } {
    this.#launches.az ??= assignment.az;
    const { reused, toLaunch } = this.#parts.assign(assignment);
    for (const part of toLaunch) part.planned = this.#pool.planLaunch(part.label);
    return { reused, toLaunch };
  }

  async #accept(assignment: Assignment): Promise<boolean> {
    const { reused, toLaunch } = this.#assign(assignment);
    this.#setPaused(this.#parts.has('missing') && this.#pool.pausesAtQuota);
    const first = reused.slice(0, NODES_PER_TRANSACTION);
    const result = await allocate(this.#services, this.#request, recordsOf(first), true);
    if ('conflict' in result) {
      this.#logger.debug('Request is not to be had', { conflict: result.conflict, subject: result.subject.kind });
      this.#keepAway(result.subject);
      return false;
    }
    if (result.requestEntry === undefined) throw new Error('the request was accepted without a lock entry');
    this.#held = new HeldRequest(this.#services, result.requestEntry);
    this.#refreshRequest();
    this.#logger.info('Accepted request', { labels: this.#request.labels, requestor: this.#request.requestor });
    this.#hold(first, result.nodeEntries);
    this.#launch(toLaunch);
    await this.#take(reused.slice(first.length));
    return true;
  }

  /** Waits for parts and capacity until the request can be brought to an end. */
  async #work(): Promise<HandlerOutcome> {
    for (;;) {
      this.#abort.signal.throwIfAborted();
      await this.#applyResumed();
      const outcome = this.#parts.has('working') ? undefined : await this.#tryToEnd();
      if (outcome) return outcome;
      const waits = this.#parts.has('missing') && !this.#parts.has('failed') && !this.#gone;
      this.#setPaused(waits && this.#pool.pausesAtQuota);
      await this.#nextEvent();
    }
  }

  /** Nothing is under way: what now? @returns `undefined` to wait for capacity, or look again */
  async #tryToEnd(): Promise<HandlerOutcome | undefined> {
    if (this.#gone) return this.#letGo();
    const failed = this.#parts.find('failed');
    if (failed) return this.#declineAfterFailure(failed);
    if (!this.#parts.has('missing')) return this.#fulfil();
    if (!this.#pool.pausesAtQuota || this.#draining) {
      return this.#putBack('a node it was to get is not available');
    }
    if (this.#givesUp) return this.#putBack('the pool can no longer serve it');
    return this.#patience.isLost ? this.#giveWay() : undefined;
  }

  async #applyResumed(): Promise<void> {
    for (let next = this.#resumed.shift(); next; next = this.#resumed.shift()) {
      this.#launch(next.toLaunch);
      await this.#take(next.reused);
    }
  }

  /** Locks and allocates further nodes of an accepted request; those somebody else took are missing again. */
  async #take(parts: readonly Part[]): Promise<void> {
    let rest = [...parts];
    while (rest.length > 0) {
      const batch = rest.slice(0, NODES_PER_TRANSACTION);
      const result = await allocate(this.#services, this.#request, recordsOf(batch), false);
      if (!('conflict' in result)) {
        this.#hold(batch, result.nodeEntries);
        rest = rest.slice(batch.length);
        continue;
      }
      this.#keepAway(result.subject);
      rest = rest.filter((part) => part.state === 'working');
    }
  }

  #hold(parts: readonly Part[], entries: ReadonlyMap<NodeId, string>): void {
    for (const part of parts) {
      if (!part.node) continue;
      part.entry = entries.get(part.node.id);
      part.node = this.#services.mirror.nodes.get(part.node.id) ?? part.node;
      if (!this.acceptsNode(part.node)) {
        void this.#reject(part, 'Node does not go with the others of the request').then(() => this.#wake());
        continue;
      }
      this.#driver.nodeReusedNotification?.(part.node);
      const answer = this.#driver.checkReusableNode?.(part.node, this.#abort.signal) ?? true;
      if (answer === true) part.state = 'ready';
      else void this.#awaitCheck(part, answer);
    }
  }

  async #awaitCheck(part: Part, answer: boolean | Promise<boolean>): Promise<void> {
    const { node } = part;
    let usable = false;
    try {
      usable = await answer;
    } catch (error) {
      this.#logger.warn('Could not check a node', { nodeId: part.node?.id, error });
    }
    if (this.#abort.signal.aborted) return;
    if (usable) part.state = 'ready';
    else {
      await this.#reject(part, 'Node does not answer; trying another');
      if (part.node === undefined && node)
        this.#driver.nodeRejectedNotification?.(this.#services.mirror.nodes.get(node.id) ?? node);
    }
    this.#wake();
  }

  /** A node that is of no use goes back. */
  async #reject(part: Part, why: string): Promise<void> {
    const { node, entry } = part;
    if (!node || entry === undefined) return;
    this.#logger.warn(why, { nodeId: node.id });
    try {
      await releaseNodes(this.#services, [{ node, entry }], this.#logger);
    } catch (error) {
      this.abandon(asError(error));
      return;
    }
    this.#parts.lose(part);
    this.#unclaimLater(node.id);
  }

  #launch(parts: readonly Part[]): void {
    if (parts.length === 0) return;
    this.#launches
      .run(this.#request, parts, () => this.#wake())
      .catch((error: unknown) => this.abandon(asError(error)));
  }

  /** @returns `undefined` when something changed and must be looked at again */
  async #fulfil(): Promise<HandlerOutcome | undefined> {
    const nodeIds = this.#parts.nodeIds();
    const unlocks = await this.#unlockMost();
    const now = this.#services.clock.now();
    const fulfilled = withRequest(this.#request, { state: 'fulfilled', nodeIds }, now, 'launcher');
    const result = await this.#heldRequest().writeOnly(fulfilled, unlocks);
    if (typeof result === 'object' && 'entry' in result) {
      this.#pool.unlockLater(result.entry);
      this.#logger.info('Fulfilled request', { nodes: nodeIds });
      return 'fulfilled';
    }
    if (result === 'gone') this.#gone = true;
    else if (result === 'changed') await this.#rereadRequest();
    else this.#loseLock(result.node.path);
    this.#wake();
    return undefined;
  }

  /** Unlocks nodes ahead of the last transaction where they are too many for one. @returns the unlocking of the rest */
  async #unlockMost(): Promise<Transaction<'node'>> {
    for (;;) {
      const held = this.#parts.all.filter((part) => part.entry !== undefined);
      const batch = held.slice(0, UNLOCKS_PER_TRANSACTION);
      const unlocks = new Transaction<'node'>();
      for (const { entry } of batch) unlocks.add('node', { op: 'delete', path: entry ?? '' });
      if (batch.length === held.length) return unlocks;
      await unlocks.commit(this.#services.committer);
      for (const part of batch) part.entry = undefined;
    }
  }

  /** Somebody removed our entry from a node's lock: that node is not ours any more. */
  #loseLock(entry: string): void {
    const part = this.#parts.all.find((candidate) => candidate.entry === entry);
    if (!part) return;
    this.#logger.warn('Lock of a node was taken away', { nodeId: part.node?.id });
    if (part.node) this.#services.mirror.unclaim(part.node.id, this);
    this.#parts.lose(part);
  }

  async #declineAfterFailure(failed: Part): Promise<HandlerOutcome> {
    const text = failed.error?.message ?? 'no reason was given';
    const why = reason('label-unavailable', `launch of "${failed.label}" failed: ${text}`, 'see the launch error', {
      label: failed.label,
    });
    return this.#decline(why, text);
  }

  /** Declines an accepted request: ready nodes are free again, failed ones are left to be deleted. */
  async #decline(why: Reason, launchError: string | null): Promise<HandlerOutcome> {
    await this.#releaseAll();
    const { clock } = this.#services;
    for (;;) {
      const isLast = await this.#pool.isLastToDecline(this.#request);
      const declined = declinedRequest(this.#request, this.#pool.launcherId, why, isLast, clock.now());
      const next = launchError === null ? declined : withRequest(declined, { launchError }, clock.now());
      const result = await this.#heldRequest().writeAndUnlock(next);
      if (result === 'gone') return this.#letGo();
      if (result === 'done') {
        this.#logger.info('Declined request', { reason: why.text, state: next.state });
        return 'declined';
      }
      await this.#rereadRequest();
    }
  }

  /** What the request holds makes room for others; it waits for its turn like everybody else. */
  async #giveWay(): Promise<HandlerOutcome> {
    await this.#releaseAll('deleting');
    const outcome = await this.#putBack('a request with a better place may need what it holds');
    return outcome === 'put-back' ? 'gave-way' : outcome;
  }

  /** The request waits again, unlocked and without nodes. */
  async #putBack(why: string): Promise<HandlerOutcome> {
    await this.#releaseAll();
    for (;;) {
      const next = withRequest(this.#request, { state: 'requested', nodeIds: [] }, this.#services.clock.now());
      const result = await this.#heldRequest().writeAndUnlock(next);
      if (result === 'gone') return this.#letGo();
      if (result === 'done') break;
      await this.#rereadRequest();
    }
    this.#logger.info('Put request back', { reason: why });
    return 'put-back';
  }

  async #letGo(): Promise<HandlerOutcome> {
    this.#logger.info('Request was withdrawn; releasing its nodes');
    await this.#releaseAll();
    await this.#heldRequest().unlock();
    return 'gone';
  }

  async #releaseAll(fate: NodeFate = 'free'): Promise<void> {
    this.#setPaused(false);
    const held = this.#parts.held();
    for (const part of this.#parts.all) part.entry = undefined;
    await releaseNodes(this.#services, held, this.#logger, fate);
  }

  async #escape(error: unknown): Promise<HandlerOutcome> {
    if (this.#abort.signal.aborted || isZooKeeperError(error)) {
      const reason: unknown = this.#abort.signal.aborted ? this.#abort.signal.reason : error;
      this.#logger.warn('Abandoned request', { error: reason });
      this.#abort.abort(reason);
      await this.#launches.settled();
      return 'abandoned';
    }
    this.#logger.error('Declining request after an unexpected error', { error });
    if (!this.#held) return 'busy';
    try {
      const text = `unexpected error: ${asError(error).message}`;
      return await this.#decline(reason('label-unavailable', text, "see the launcher's log"), null);
    } catch (second) {
      this.#logger.error('Could not decline request', { error: second });
      return 'abandoned';
    }
  }

  /** A node that was to be ours is locked or changed: leave it alone for a moment. */
  #keepAway(subject: Subject): void {
    if (subject.kind !== 'node') return;
    const part = this.#parts.ofNode(subject.id);
    if (part) this.#parts.lose(part);
    this.#unclaimLater(subject.id);
  }

  #unclaimLater(id: NodeId): void {
    const { mirror, clock } = this.#services;
    clock.setTimer(BUSY_NODE_PAUSE_MS, () => mirror.unclaim(id, this));
  }

  #heldRequest(): HeldRequest {
    if (!this.#held) throw new Error('the request is not locked');
    return this.#held;
  }

  #refreshRequest(): void {
    this.#request = this.#services.mirror.requests.get(this.#request.id) ?? this.#request;
  }

  /** Somebody wrote the request although we hold its lock: go on from what it says now. */
  async #rereadRequest(): Promise<void> {
    const before = this.#request.stat?.version;
    await this.#services.zk.sync('/');
    this.#refreshRequest();
    if (this.#request.stat?.version === before) throw new Error('the request was changed while locked');
  }

  #setPaused(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    if (paused) this.#patience.begin();
    else this.#patience.end();
    this.#pool.pauseChanged();
  }

  #wake(): void {
    this.#woken = true;
    this.#waiter?.();
  }

  async #nextEvent(): Promise<void> {
    if (!this.#woken) await new Promise<void>((resolve) => (this.#waiter = resolve));
    this.#waiter = undefined;
    this.#woken = false;
  }
}

function recordsOf(parts: readonly Part[]) {
  return parts.map((part) => part.node).filter((node) => node !== undefined);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
