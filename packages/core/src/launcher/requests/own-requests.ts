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
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import type { ReleasedState } from './release.js';
import { isRefusal, proveNodeUnlocked, setNode, Transaction } from '../state/transaction.js';

/** Part of the request id, which orders requests for free nodes after all others. */
const PRIORITY = 900;
const REMOVE_RETRY_MS = 1_000;

/**
 * Requests one free node. The request lives as long as the launcher's session.
 * @param provider - the only provider that may serve it; `null`: any
 * @throws {ZooKeeperError} it is not known whether the request has been created
 */
export async function requestNode({ zk, clock }: Context, label: string, provider: string | null): Promise<RequestId> {
  const request = newRequest(
    { labels: [label], requestor: MIN_READY_REQUESTOR, reuse: false, eventId: uuidHex(), provider },
    clock.now(),
  );
  const options = { ephemeral: true, sequential: true };
  const path = await zk.create(requestCreatePath(PRIORITY), encodeRequest(request), options);
  return path.slice(path.lastIndexOf('/') + 1) as RequestId;
}

/** Whether this launcher made the request. The session tells it, as the answer to the creation may have been lost. */
export function isOwnRequest({ zk }: Context, { stat }: RequestRecord): boolean {
  return stat?.ephemeralOwner === zk.sessionId;
}

/**
 * Deallocates the nodes of a fulfilled request for a free node and removes the request, in one transaction, so that the nodes never
 * count as missing in between.
 * @param state - `deleting` if the nodes are not needed
 * @returns false if a node has changed meanwhile: only the request is removed
 */
export async function releaseOwnRequest(
  context: Context,
  request: RequestRecord,
  state: ReleasedState = 'free',
): Promise<boolean> {
  const { mirror, clock, committer } = context;
  const transaction = new Transaction<'node' | 'request'>();
  transaction.add('request', { op: 'delete', path: requestPath(request.id) });
  for (const id of request.nodeIds) {
    const node = mirror.nodes.get(id);
    if (node?.allocatedTo !== request.id) continue;
    transaction.add('node', ...proveNodeUnlocked(context, node));
    const changes = state === 'free' ? { allocatedTo: null } : { allocatedTo: null, state };
    transaction.add('node', setNode(withNode(node, changes, clock.now(), 'launcher')));
  }
  try {
    await transaction.commit(committer);
    return true;
  } catch (error) {
    if (!isRefusal(error) && !isZooKeeperError(error)) throw error;
    await removeOwnRequest(context, request);
    return false;
  }
}

/**
 * Removes a request for a free node, retrying until the session or the launcher ends.
 * @param version - remove it only if it still has this version
 * @returns false if it has another version
 */
export async function removeOwnRequest(context: Context, { id }: RequestRecord, version?: number): Promise<boolean> {
  const { zk, clock, logger, life } = context;
  const epoch = zk.sessionEpoch;
  while (!life.signal.aborted && zk.sessionEpoch === epoch) {
    try {
      await zk.delete(requestPath(id), version);
      return true;
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      if (error.code === 'ZK_NO_NODE') return true;
      if (error.code === 'ZK_BAD_VERSION') return false;
      logger.debug('Could not remove a request for a free node; trying again', { requestId: id, error });
    }
    await delay(clock, REMOVE_RETRY_MS);
  }
  return true;
}
