import {
  compareRequests,
  delay,
  isZooKeeperError,
  requestLockPath,
  withNode,
  withRequest,
  type BackoffOptions,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { removeAbandonedLocks } from './abandoned.js';
import { NODES_PER_TRANSACTION } from './locks.js';
import { setRequest } from './writes.js';
import { UNALLOCATED } from './release.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Context } from '../state/context.js';
import type { Occasion, Part } from '../state/part.js';
import { isUnreadable } from '../state/unreadable.js';
import { WorkQueue, type Step } from '../../async/work-queue.js';
import { isRefusal, proveNodeUnlocked, proveUnlocked, setNode, Transaction } from '../state/transaction.js';

const RETRY = { firstMs: 100, longestMs: 30_000 };
/** The first attempts often fail because another process works on the request, so these are logged at debug level. */
const QUIET_ATTEMPTS = 5;
/** Pause between checks whether another pool of this process still works on an abandoned request. */
const AT_WORK_PAUSE_MS = 1_000;

/** Whether a feature cares for a lost request, with the nodes that are allocated to it. */
export type LostRequestClaim = (request: RequestRecord, nodes: readonly NodeRecord[]) => boolean;

/** The pools of this launcher, which take requests. */
export interface RequestTakers {
  /** The request is not being recovered any more. */
  recovered(id: RequestId): void;
}

/**
 * Returns lost requests to the queue: those that are `pending` while their lock has no entry, because their launcher died or
 * released them. State and lock are checked when either changes, so it does not matter which change is seen last. Requests
 * that work of this process has abandoned are unlocked first.
 */
export class LostRequests implements Part {
  readonly #context: Context;
  readonly #ledger: Ledger;
  readonly #claims: LostRequestClaim[] = [];
  #takers: RequestTakers | undefined;
  readonly #queue: WorkQueue<RequestId>;
  /** Whether no event said that what is looked at now is lost. */
  #isSweep = false;
  /** Abandoned requests whose locks are being removed. */
  readonly #recovering = new Set<RequestId>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context, ledger: Ledger) {
    this.#context = context;
    this.#ledger = ledger;
    this.#queue = new WorkQueue(context, {
      decide: (id) => this.#decide(id),
      failed: (id, error) => this.#failed(id, error),
    });
    const { events } = context;
    this.#unsubscribe = [
      events.on('requestChanged', ({ id, after }) => {
        if (after?.state === 'pending') this.#suspect(id as RequestId);
        else this.#queue.forget(id as RequestId);
      }),
      events.on('requestLockChanged', ({ id, contenders }) => contenders === 0 && this.#suspect(id)),
      events.on('poolChanged', ({ before, after }) => {
        if (before && !after) this.reconsider();
      }),
    ];
  }

  /** From now on, these pools take requests. */
  handTo(takers: RequestTakers): void {
    this.#takers = takers;
  }

  /** Asks the claim before a request is reset. A claimed request stays as it is until it is looked at again. */
  claim(claim: LostRequestClaim): void {
    this.#claims.push(claim);
  }

  /** Looks at a request again. */
  look(id: RequestId): void {
    this.#queue.add(id);
  }

  // --- abandoned requests -----------------------------------------------------------------------------------------

  /** Whether the locks of an abandoned request are still being removed; until then no pool may lock it. */
  isRecovering(id: RequestId): boolean {
    return this.#recovering.has(id);
  }

  /**
   * Cleans up after work that does not know which of its writes took effect: removes its locks, then resets the request.
   * Then pools may take it again.
   * @param epoch - of the session in which it wrote
   */
  recover(id: RequestId, epoch: number): void {
    this.#recovering.add(id);
    void this.#removeLocks(id, epoch)
      .catch((error: unknown) =>
        this.#context.logger.error('Could not clean up after an abandoned request', { requestId: id, error }),
      )
      .finally(() => {
        this.#recovering.delete(id);
        this.#queue.add(id);
        this.#takers?.recovered(id);
      });
  }

  /** Waits until no pool of this process works on the request, as lock entries do not show which work made them. */
  async #removeLocks(id: RequestId, epoch: number): Promise<void> {
    const { zk, clock, life } = this.#context;
    const { signal } = life;
    while (this.#ledger.has(id) && zk.sessionEpoch === epoch && !signal.aborted) {
      await delay(clock, AT_WORK_PAUSE_MS, signal).catch(() => undefined); // an abort ends the wait
    }
    await removeAbandonedLocks(this.#context, { request: id }, epoch, signal);
  }

  // --- lost requests ----------------------------------------------------------------------------------------------

  /** Checks every pending request that this process does not work on. */
  reconsider(occasion?: Occasion): void {
    if (occasion === 'reload') return;
    const { mirror, metrics } = this.#context;
    if (occasion === 'minute') metrics?.sweepFound('lost-request', 0);
    const pending = [...mirror.pendingRequests()].flatMap((id) => mirror.requests.get(id) ?? []);
    this.#isSweep = occasion === 'minute';
    for (const { id } of pending.sort(compareRequests)) this.#queue.add(id);
    this.#isSweep = false;
  }

  #decide(id: RequestId): Step | undefined {
    const isSweep = this.#isSweep;
    // only the sweep looks for an end of a lock that nothing told of
    if (!isSweep && this.#context.mirror.requests.contenders(id) > 0) return undefined;
    return this.#lostRequest(id) && { run: () => this.#reset(id, isSweep) };
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    void this.#queue.stop();
  }

  /** Checks at the end of the turn, as the mirror shows the changes of one transaction one after another. */
  #suspect(id: RequestId): void {
    if (!this.#seemsLost(id)) return;
    queueMicrotask(() => {
      if (this.#seemsLost(id)) this.#queue.add(id);
    });
  }

  #seemsLost(id: RequestId): boolean {
    const { requests } = this.#context.mirror;
    return requests.get(id)?.state === 'pending' && requests.contenders(id) === 0 && !this.#ledger.has(id);
  }

  #failed(id: RequestId, error: unknown): BackoffOptions | undefined {
    const { logger, life } = this.#context;
    if (life.signal.aborted || (isRefusal(error) && error.kind === 'gone' && error.owner === 'request'))
      return undefined;
    if (!isRefusal(error) && !isZooKeeperError(error)) {
      logger.error('Could not reset a lost request', { requestId: id, error });
      return undefined;
    }
    const { failures } = this.#queue.failuresOf(id);
    const level = failures < QUIET_ATTEMPTS ? 'debug' : 'warn';
    logger[level]('Lost request cannot be reset yet', { requestId: id, attempts: failures + 1, error });
    return RETRY;
  }

  /** Resets the request if no process holds its lock, unless a feature claims it. */
  async #reset(id: RequestId, isSweep: boolean): Promise<void> {
    const { mirror, committer, logger, clock, metrics } = this.#context;
    // Lock entries first: once the lock is seen without an entry, the mirror shows all writes of its last holder.
    const [entries] = await Promise.all([this.#lockEntries(id), mirror.requests.settle(), mirror.nodes.settle()]);
    if (entries !== undefined && entries.length > 0) return;
    const request = this.#lostRequest(id);
    if (!request) return;
    const nodes = [...mirror.allocatedTo(id)].flatMap((node) => mirror.nodes.get(node) ?? []);
    if (this.#claims.some((claim) => claim(request, nodes))) return;
    for (const transaction of this.#resetTransactions(request, nodes, entries !== undefined, clock.now())) {
      await transaction.commit(committer);
    }
    logger.info('Reset lost request: the launcher that had accepted it is gone', {
      requestId: id,
      eventId: request.eventId,
      nodes: nodes.map((node) => node.id),
    });
    if (isSweep) metrics?.sweepFound('lost-request', 1);
  }

  /** `undefined` also before all nodes, and the pools of this launcher, are known; then all requests are checked again. */
  #lostRequest(id: RequestId): RequestRecord | undefined {
    const { nodes, requests } = this.#context.mirror;
    if (!this.#context.life.isStarted || !nodes.ready || !requests.ready || this.#ledger.has(id)) return undefined;
    const request = requests.get(id);
    if (isUnreadable(requests, id)) return undefined;
    return request?.state === 'pending' ? request : undefined;
  }

  /**
   * Each transaction proves that no process has locked the request, and the last one resets it. After a crash in between the
   * request is still lost, with fewer nodes.
   */
  *#resetTransactions(
    request: RequestRecord,
    nodes: readonly NodeRecord[],
    directoryExists: boolean,
    now: number,
  ): Generator<Transaction<'lock' | 'request' | 'node'>> {
    const root = requestLockPath(request.id);
    for (let at = 0; ; at += NODES_PER_TRANSACTION) {
      const transaction = new Transaction<'lock' | 'request' | 'node'>();
      transaction.add('lock', ...proveUnlocked(root, directoryExists));
      for (const node of nodes.slice(at, at + NODES_PER_TRANSACTION)) {
        transaction.add('node', ...proveNodeUnlocked(this.#context, node));
        transaction.add('node', setNode(withNode(node, changesOfLost(node), now)));
      }
      const isLast = at + NODES_PER_TRANSACTION >= nodes.length;
      const reset = withRequest(request, { state: 'requested', nodeIds: [] }, now, 'launcher');
      if (isLast) transaction.add('request', setRequest(reset));
      yield transaction;
      if (isLast) return;
    }
  }

  async #lockEntries(id: RequestId): Promise<string[] | undefined> {
    try {
      return await this.#context.zk.getChildren(requestLockPath(id));
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }
}

function changesOfLost({ state }: NodeRecord) {
  if (state === 'init') return { allocatedTo: null, state: 'deleting' } as const;
  return state === 'ready' ? UNALLOCATED : { allocatedTo: null };
}
