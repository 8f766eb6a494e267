import {
  backoffMs,
  compareRequests,
  delay,
  isZooKeeperError,
  requestLockPath,
  withNode,
  withRequest,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { removeAbandonedLocks } from './abandoned.js';
import { NODES_PER_TRANSACTION } from './locks.js';
import { setRequest } from './writes.js';
import { UNALLOCATED } from './release.js';
import { TakeOvers, type KnownPools, type Takers } from './take-overs.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Context } from '../state/context.js';
import type { Occasion, Part } from '../state/part.js';
import { isUnreadable } from '../state/unreadable.js';
import { isRefusal, proveNodeUnlocked, proveUnlocked, setNode, Transaction } from '../state/transaction.js';

const RETRY = { firstMs: 100, longestMs: 30_000 };
/** The first attempts often fail because another process works on the request, so these are logged at debug level. */
const QUIET_ATTEMPTS = 5;
/** Pause between checks whether another pool of this process still works on an abandoned request. */
const AT_WORK_PAUSE_MS = 1_000;

/**
 * Hands lost requests over or returns them to the queue: those that are `pending` while their lock has no entry, because their
 * launcher died or released them. If launches for a request can be continued, a pool of their provider takes it over with all its
 * nodes. State and lock are checked when either changes, so it does not matter which change is seen last. Requests
 * that work of this process has abandoned are unlocked first.
 */
export class LostRequests implements Part {
  readonly #context: Context;
  readonly #ledger: Ledger;
  readonly #takeOvers: TakeOvers;
  #takers: Takers | undefined;
  /** Failed attempts of requests that are being checked. */
  readonly #checking = new Map<RequestId, number>();
  /** Requests to check once more, as they changed while they were being checked. */
  readonly #again = new Set<RequestId>();
  /** Abandoned requests whose locks are being removed. */
  readonly #recovering = new Set<RequestId>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context, ledger: Ledger, registry: KnownPools) {
    this.#context = context;
    this.#ledger = ledger;
    this.#takeOvers = new TakeOvers(context, ledger, registry, this);
    const { events } = context;
    this.#unsubscribe = [
      events.on('requestChanged', ({ id, after }) => after?.state === 'pending' && this.suspect(id as RequestId)),
      events.on('requestLockChanged', ({ id, contenders }) => contenders === 0 && this.suspect(id)),
      events.on('poolChanged', ({ before, after }) => {
        if (before && !after) void this.reconsider();
      }),
    ];
  }

  /** From now on, these pools take requests. */
  handTo(takers: Takers): void {
    this.#takers = takers;
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
      .then(() => this.#recovering.delete(id))
      .then(() => this.check(id))
      .catch((error: unknown) =>
        this.#context.logger.error('Could not clean up after an abandoned request', { requestId: id, error }),
      )
      .finally(() => {
        this.#recovering.delete(id);
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
  async reconsider(occasion?: Occasion): Promise<void> {
    if (occasion === 'reload') return;
    const { mirror, metrics } = this.#context;
    const pending = [...mirror.pendingRequests()].flatMap((id) => mirror.requests.get(id) ?? []);
    const resets = await Promise.all(pending.sort(compareRequests).map(({ id }) => this.check(id)));
    if (occasion === 'minute') metrics?.sweepFound('lost-request', resets.filter(Boolean).length);
  }

  /**
   * Resets the request if it is pending and no process holds its lock. Never rejects; retries in the background.
   * @returns whether the first attempt reset it
   */
  async check(id: RequestId): Promise<boolean> {
    if (this.#stop.signal.aborted || this.#ledger.has(id)) return false;
    if (this.#checking.has(id)) {
      this.#again.add(id); // the check may have read the request before this change
      return false;
    }
    this.#checking.set(id, 0);
    const done = await this.#try(id);
    if (this.#again.delete(id) && !this.#checking.has(id)) this.suspect(id);
    return done;
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#takeOvers.stop();
    this.#stop.abort(new Error('the launcher stops'));
  }

  /** Checks at the end of the turn, as the mirror shows the changes of one transaction one after another. */
  suspect(id: RequestId): void {
    if (!this.#seemsLost(id)) return;
    queueMicrotask(() => {
      if (this.#seemsLost(id)) void this.check(id);
    });
  }

  #seemsLost(id: RequestId): boolean {
    const { requests } = this.#context.mirror;
    return requests.get(id)?.state === 'pending' && requests.contenders(id) === 0 && !this.#ledger.has(id);
  }

  async #try(id: RequestId): Promise<boolean> {
    const { clock, random, logger } = this.#context;
    try {
      const done = await this.#reset(id);
      this.#checking.delete(id);
      return done;
    } catch (error) {
      if (this.#stop.signal.aborted) return false;
      if (!isRefusal(error) && !isZooKeeperError(error)) {
        this.#checking.delete(id);
        logger.error('Could not reset a lost request', { requestId: id, error });
        return false;
      }
      if (isRefusal(error) && error.kind === 'gone' && error.owner === 'request') {
        this.#checking.delete(id);
        return false;
      }
      const attempt = this.#checking.get(id) ?? 0;
      this.#checking.set(id, attempt + 1);
      const level = attempt < QUIET_ATTEMPTS ? 'debug' : 'warn';
      logger[level]('Lost request cannot be reset yet', { requestId: id, attempts: attempt + 1, error });
      clock.setTimer(backoffMs(attempt, RETRY, random), () => {
        if (this.#stop.signal.aborted) return;
        void this.#try(id);
      });
      return false;
    }
  }

  async #reset(id: RequestId): Promise<boolean> {
    const { mirror, committer, logger, clock } = this.#context;
    if (!this.#lostRequest(id)) return false;
    // Lock entries first: once the lock is seen without an entry, the mirror shows all writes of its last holder.
    const [entries] = await Promise.all([this.#lockEntries(id), mirror.requests.settle(), mirror.nodes.settle()]);
    if (entries !== undefined && entries.length > 0) return false;
    const request = this.#lostRequest(id);
    if (!request) return false;
    const nodes = [...mirror.allocatedTo(id)].flatMap((node) => mirror.nodes.get(node) ?? []);
    if (this.#takeOvers.offer(request, nodes, this.#takers)) return false;
    for (const transaction of this.#resetTransactions(request, nodes, entries !== undefined, clock.now())) {
      await transaction.commit(committer);
    }
    logger.info('Reset lost request: the launcher that had accepted it is gone', {
      requestId: id,
      eventId: request.eventId,
      nodes: nodes.map((node) => node.id),
    });
    return true;
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
