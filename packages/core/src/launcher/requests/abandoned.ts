import {
  delay,
  isZooKeeperError,
  nodeLockPath,
  requestLockPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { Ledger } from '../ledger/ledger.js';
import type { Context } from '../state/context.js';
import type { LostRequests } from './lost-requests.js';

const RETRY_MS = 1_000;
/** So many attempts may well fail while the connection is unsteady. */
const QUIET_ATTEMPTS = 5;

/** Whose locks to look through. */
export interface Abandoned {
  /** The request, and the nodes allocated to it. */
  readonly request?: RequestId;
  readonly nodes?: readonly NodeId[];
}

/**
 * Removes lock entries of our own session that were left behind when the connection broke in the middle of a write, and
 * it was unknown whether the write had taken effect. With a new session there is nothing to remove.
 * @param epoch - of the session in which the write was begun
 */
export async function removeAbandonedLocks(
  context: Context,
  { request, nodes = [] }: Abandoned,
  epoch: number,
  signal: AbortSignal,
): Promise<void> {
  const { zk, clock, mirror, logger } = context;
  for (let attempt = 1; !signal.aborted && zk.sessionEpoch === epoch && zk.state !== 'CLOSED'; attempt++) {
    try {
      await zk.whenConnected(signal);
      if (zk.sessionEpoch !== epoch) return; // what is there now is of the new session
      await mirror.nodes.whenReady(signal);
      await mirror.nodes.settle(); // what the lost write made is ours to remove
      const all = new Set([...nodes, ...(request === undefined ? [] : mirror.allocatedTo(request))]);
      if (request !== undefined) await removeOwnEntries(context, requestLockPath(request));
      await Promise.all([...all].map((id) => removeOwnEntries(context, nodeLockPath(id))));
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!isZooKeeperError(error)) throw error;
      const level = attempt <= QUIET_ATTEMPTS ? 'debug' : 'warn';
      logger[level]('Cannot remove locks that were left behind; trying again', {
        requestId: request,
        nodes,
        attempt,
        error,
      });
      // An abort ends the wait, and with it the loop.
      await delay(clock, RETRY_MS, signal).catch(() => undefined);
    }
  }
}

async function removeOwnEntries({ zk }: Context, root: string): Promise<void> {
  for (const name of await childrenOf(zk, root)) {
    const path = `${root}/${name}`;
    const stat = await zk.exists(path);
    if (stat?.ephemeralOwner !== zk.sessionId) continue;
    try {
      await zk.delete(path);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }
}

async function childrenOf(zk: Context['zk'], root: string): Promise<string[]> {
  try {
    return await zk.getChildren(root);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}

/** How long to wait before another look at a request that another pool of this process works on. */
const OTHERS_TURN_MS = 1_000;

/** Requests whose work lost track of what it wrote: their locks are removed, then they are reset like lost ones. */
export class AbandonedRequests {
  readonly #context: Context;
  readonly #ledger: Ledger;
  readonly #lost: LostRequests;
  /** Requests whose locks are being removed. */
  readonly #recovering = new Set<RequestId>();

  constructor(context: Context, ledger: Ledger, lost: LostRequests) {
    this.#context = context;
    this.#ledger = ledger;
    this.#lost = lost;
  }

  /** The request must not be locked yet. */
  isRecovering(id: RequestId): boolean {
    return this.#recovering.has(id);
  }

  /** Begins to clean up. @param epoch - of the session it wrote in */
  recover(id: RequestId, epoch: number): void {
    this.#recovering.add(id);
    void this.#removeLocks(id, epoch)
      .then(() => this.#lost.check(id))
      .catch((error: unknown) =>
        this.#context.logger.error('Could not clean up after an abandoned request', { requestId: id, error }),
      )
      .finally(() => {
        this.#recovering.delete(id);
        this.#context.events.emit('requestRecovered', { request: id });
      });
  }

  /** Own lock entries do not tell whose they are: those of work under way would go as well, so it is waited for. */
  async #removeLocks(id: RequestId, epoch: number): Promise<void> {
    const { zk, clock, life } = this.#context;
    const { signal } = life;
    while (this.#ledger.has(id) && zk.sessionEpoch === epoch && !signal.aborted) {
      await delay(clock, OTHERS_TURN_MS, signal).catch(() => undefined); // an abort ends the wait
    }
    await removeAbandonedLocks(this.#context, { request: id }, epoch, signal);
  }
}
