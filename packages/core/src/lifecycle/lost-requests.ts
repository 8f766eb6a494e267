import {
  isZooKeeperError,
  requestLockPath,
  withNode,
  withRequest,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { setRequest } from '../fulfilment/decline.js';
import { UNALLOCATED } from '../fulfilment/release.js';
import type { Services } from '../fulfilment/services.js';
import { isRefusal, removeLockDirectory, setNode, Transaction } from '../fulfilment/transaction.js';
import { backoffMs } from './backoff.js';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 30_000;

/**
 * Finds accepted requests whose launcher has gone and returns them to the queue. A launcher's pool components and its
 * locks are of one session and vanish together, so the vanishing of a component is when to look.
 */
export class LostRequests {
  readonly #services: Services;
  /** Requests a handler of this process works on. */
  readonly #isOurs: (id: RequestId) => boolean;
  readonly #checking = new Map<RequestId, number>();
  readonly #stop = new AbortController();

  constructor(services: Services, isOurs: (id: RequestId) => boolean) {
    this.#services = services;
    this.#isOurs = isOurs;
  }

  /** Looks at every pending request that this process does not handle. @returns how many of them it reset */
  async checkAll(): Promise<number> {
    const resets = await Promise.all([...this.#services.mirror.pendingRequests()].map((id) => this.check(id)));
    return resets.filter(Boolean).length;
  }

  /**
   * Resets the request if it is pending and nobody holds its lock. Never rejects; tries again when it has to.
   * @returns whether the first try reset it
   */
  async check(id: RequestId): Promise<boolean> {
    if (this.#stop.signal.aborted || this.#isOurs(id) || this.#checking.has(id)) return false;
    this.#checking.set(id, 0);
    return this.#try(id);
  }

  stop(): void {
    this.#stop.abort(new Error('the launcher stops'));
  }

  async #try(id: RequestId): Promise<boolean> {
    const { clock, random, logger } = this.#services;
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
      logger.debug('Lost request cannot be reset yet', { requestId: id, error });
      clock.setTimer(backoffMs(attempt, FIRST_RETRY_MS, LONGEST_RETRY_MS, random), () => {
        if (this.#stop.signal.aborted) return;
        void this.#try(id);
      });
      return false;
    }
  }

  async #reset(id: RequestId): Promise<boolean> {
    const { mirror, committer, logger, clock } = this.#services;
    // a mirror that is being rebuilt may not show all nodes of the request; once it is complete all are checked again
    if (!mirror.nodes.ready || !mirror.requests.ready) return false;
    const request = mirror.requests.get(id);
    if (request?.state !== 'pending' || this.#isOurs(id)) return false;
    const entries = await this.#lockEntries(id);
    if (entries !== undefined && entries.length > 0) return false;
    const nodes = [...mirror.allocatedTo(id)]
      .map((node) => mirror.nodes.get(node))
      .filter((node) => node !== undefined);
    const transaction = this.#resetTransaction(request, nodes, entries !== undefined, clock.now());
    await transaction.commit(committer);
    logger.info('Reset lost request: the launcher that had accepted it is gone', {
      requestId: id,
      eventId: request.eventId,
      nodes: nodes.map((node) => node.id),
    });
    return true;
  }

  #resetTransaction(
    request: RequestRecord,
    nodes: readonly NodeRecord[],
    directoryExists: boolean,
    now: number,
  ): Transaction<'lock' | 'request' | 'node'> {
    const { mirror } = this.#services;
    const root = requestLockPath(request.id);
    const transaction = new Transaction<'lock' | 'request' | 'node'>();
    if (!directoryExists) transaction.add('lock', { op: 'create', path: root });
    transaction.add('lock', { op: 'delete', path: root });
    for (const node of nodes) {
      if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('node', removeLockDirectory(node));
      transaction.add('node', setNode(withNode(node, changesOfLost(node), now)));
    }
    const reset = withRequest(request, { state: 'requested', nodeIds: [] }, now, 'launcher');
    transaction.add('request', setRequest(reset));
    return transaction;
  }

  async #lockEntries(id: RequestId): Promise<string[] | undefined> {
    try {
      return await this.#services.zk.getChildren(requestLockPath(id));
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
