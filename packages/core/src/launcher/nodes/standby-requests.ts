import {
  delay,
  encodeRequest,
  isZooKeeperError,
  newRequest,
  requestCreatePath,
  requestPath,
  uuidHex,
  withNode,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { MIN_READY_REQUESTOR } from '../plan/rules.js';
import type { NodeFate } from '../requests/release.js';
import { isRefusal, removeLockDirectory, setNode, Transaction } from '../state/transaction.js';

/** Part of a request id; standby nodes are asked for after everything else. */
const PRIORITY = 900;
const REMOVE_RETRY_MS = 1_000;

/** The requests with which a launcher asks for standby nodes: they live as long as its session. */
export class StandbyRequests {
  readonly #context: Context;
  #stopped = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Requests that could not be removed are left to the end of the session. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Asks for one node.
   * @param provider - that alone is to make it; `null`: whichever can
   * @throws {ZooKeeperError} it is not known whether the request has been made
   */
  async ask(label: string, provider: string | null): Promise<RequestId> {
    const { zk, clock } = this.#context;
    const request = newRequest(
      { labels: [label], requestor: MIN_READY_REQUESTOR, reuse: false, eventId: uuidHex(), provider },
      clock.now(),
    );
    const path = await zk.create(requestCreatePath(PRIORITY), encodeRequest(request), {
      ephemeral: true,
      sequential: true,
    });
    return path.slice(path.lastIndexOf('/') + 1) as RequestId;
  }

  /** It is this launcher's own: by the session, as the answer to its creation may have been lost. */
  isOwn({ stat }: RequestRecord): boolean {
    return stat?.ephemeralOwner === this.#context.zk.sessionId;
  }

  /**
   * The nodes of a fulfilled request are everybody's from now on; they never count as missing in between.
   * @param fate - `deleting`: they are not needed
   * @returns whether they are; otherwise the request is removed, and with it its claim to nodes that changed meanwhile
   */
  async handOver(request: RequestRecord, fate: NodeFate = 'free'): Promise<boolean> {
    const { mirror, clock, committer } = this.#context;
    const transaction = new Transaction<'node' | 'request'>();
    transaction.add('request', { op: 'delete', path: requestPath(request.id) });
    for (const id of request.nodeIds) {
      const node = mirror.nodes.get(id);
      if (node?.allocatedTo !== request.id) continue;
      if (mirror.nodes.hasLockDirectory(id)) transaction.add('node', removeLockDirectory(node));
      const changes = fate === 'free' ? { allocatedTo: null } : { allocatedTo: null, state: fate };
      transaction.add('node', setNode(withNode(node, changes, clock.now(), 'launcher')));
    }
    try {
      await transaction.commit(committer);
      return true;
    } catch (error) {
      if (!isRefusal(error) && !isZooKeeperError(error)) throw error;
      await this.remove(request);
      return false;
    }
  }

  /** It goes with the session if not before. */
  async remove(request: RequestRecord): Promise<void> {
    await this.#remove(request, undefined);
  }

  /** As {@link remove}. @returns false when the request was changed meanwhile, and stays */
  removeUnchanged(request: RequestRecord): Promise<boolean> {
    return this.#remove(request, request.stat?.version);
  }

  async #remove(request: RequestRecord, version: number | undefined): Promise<boolean> {
    const { zk, clock, logger } = this.#context;
    const epoch = zk.sessionEpoch;
    while (!this.#stopped && zk.sessionEpoch === epoch) {
      try {
        await zk.delete(requestPath(request.id), version);
        return true;
      } catch (error) {
        if (!isZooKeeperError(error)) throw error;
        if (error.code === 'ZK_NO_NODE') return true;
        if (error.code === 'ZK_BAD_VERSION') return false;
        logger.debug('Could not remove a standby request; trying again', { requestId: request.id, error });
      }
      await delay(clock, REMOVE_RETRY_MS);
    }
    return true;
  }
}
