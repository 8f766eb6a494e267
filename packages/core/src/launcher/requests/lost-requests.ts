import {
  backoffMs,
  isZooKeeperError,
  requestLockPath,
  withNode,
  withRequest,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { NODES_PER_TRANSACTION } from './locks.js';
import { proveUnlocked, setRequest } from './writes.js';
import { UNALLOCATED } from './release.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Context } from '../state/context.js';
import { isRefusal, removeLockDirectory, setNode, Transaction } from '../state/transaction.js';

const RETRY = { firstMs: 100, longestMs: 30_000 };
/** So many attempts may well fail: another process is at work on the request or one of its nodes. */
const QUIET_ATTEMPTS = 5;

/**
 * Finds accepted requests whose launcher has gone, or has let go of them, and returns them to the queue: a request is lost
 * while it is pending and its lock has no entry. Both are looked at whenever either changes, so it does not matter which
 * of the two is seen last.
 */
export class LostRequests {
  readonly #context: Context;
  readonly #ledger: Ledger;
  readonly #checking = new Map<RequestId, number>();
  /** Requests of which something was heard while they were being checked. */
  readonly #again = new Set<RequestId>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: () => void;

  constructor(context: Context, ledger: Ledger) {
    this.#context = context;
    this.#ledger = ledger;
    this.#unsubscribe = context.mirror.listen({
      onRequest: ({ after }) => after?.state === 'pending' && this.#suspect(after.id),
      onRequestLock: (id, contenders) => contenders === 0 && this.#suspect(id),
    });
  }

  /** Looks at every pending request that this process does not handle. @returns how many of them it reset */
  async checkAll(): Promise<number> {
    const resets = await Promise.all([...this.#context.mirror.pendingRequests()].map((id) => this.check(id)));
    return resets.filter(Boolean).length;
  }

  /**
   * Resets the request if it is pending and no process holds its lock. Never rejects; tries again when it has to.
   * @returns whether the first try reset it
   */
  async check(id: RequestId): Promise<boolean> {
    if (this.#stop.signal.aborted || this.#ledger.has(id)) return false;
    if (this.#checking.has(id)) {
      this.#again.add(id); // what is being judged may have been read before this
      return false;
    }
    this.#checking.set(id, 0);
    const done = await this.#try(id);
    if (this.#again.delete(id) && !this.#checking.has(id)) this.#suspect(id);
    return done;
  }

  stop(): void {
    this.#unsubscribe();
    this.#stop.abort(new Error('the launcher stops'));
  }

  /** What one answer or one commit brings is shown piece by piece: judged is what it shows as a whole. */
  #suspect(id: RequestId): void {
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
    // In this order: what the last holder of the lock wrote is seen when the lock is seen without one.
    const [entries] = await Promise.all([this.#lockEntries(id), mirror.requests.settle(), mirror.nodes.settle()]);
    if (entries !== undefined && entries.length > 0) return false;
    const request = this.#lostRequest(id);
    if (!request) return false;
    const nodes = [...mirror.allocatedTo(id)]
      .map((node) => mirror.nodes.get(node))
      .filter((node) => node !== undefined);
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

  /** A mirror that is being rebuilt may not show all nodes of a request; once it is complete all are checked again. */
  #lostRequest(id: RequestId): RequestRecord | undefined {
    const { nodes, requests } = this.#context.mirror;
    if (!nodes.ready || !requests.ready || this.#ledger.has(id)) return undefined;
    const request = requests.get(id);
    return request?.state === 'pending' ? request : undefined;
  }

  /**
   * Each of them proves that no process has the request, and the last one resets it: after a crash in between it is lost
   * still, with fewer nodes.
   */
  *#resetTransactions(
    request: RequestRecord,
    nodes: readonly NodeRecord[],
    directoryExists: boolean,
    now: number,
  ): Generator<Transaction<'lock' | 'request' | 'node'>> {
    const { mirror } = this.#context;
    const root = requestLockPath(request.id);
    for (let at = 0; ; at += NODES_PER_TRANSACTION) {
      const transaction = new Transaction<'lock' | 'request' | 'node'>();
      transaction.add('lock', ...proveUnlocked(root, directoryExists));
      for (const node of nodes.slice(at, at + NODES_PER_TRANSACTION)) {
        if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('node', removeLockDirectory(node));
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
