import {
  decodeRequest,
  isZooKeeperError,
  requestPath,
  withNode,
  withRequest,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { NODES_PER_TRANSACTION } from './allocation.js';
import type { WriteResult } from './held-request.js';
import type { Part } from './request-parts.js';
import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';
import { setNode, Transaction } from './transaction.js';

/**
 * Unlocks the nodes and writes `fulfilled` with their ids, in one transaction, unless that has been done together with the
 * last node. When the request is gone or changed, or a node is no longer ours, the work continues.
 */
export async function fulfil(work: RequestWork): Promise<StepTo<'collecting' | 'ended'>> {
  const { nodes, logger } = work;
  if (!work.isFulfilled) {
    const result = await writeFulfilled(work, await nodes.unlockMost());
    if (result === 'gone') work.tell('gone');
    else if (result === 'changed') await work.rereadRequest();
    else if ('node' in result) nodes.loseLock(result.node.path);
    if (!work.isFulfilled) return { name: 'collecting' };
  }
  logger.info('Fulfilled request', { nodes: work.parts.nodeIds() });
  return { name: 'ended', outcome: 'fulfilled' };
}

/**
 * A node that was made is ready. Where the request lacks nothing else, stores the node and fulfils the request, in one
 * transaction; the work ends once the launch has returned.
 * @returns the node as stored; `undefined`: nothing was written, and the node is to be stored by itself
 */
export async function fulfilWith(
  work: RequestWork,
  part: Part,
  changes: Partial<NodeRecord>,
): Promise<NodeRecord | undefined> {
  const { node } = part;
  if (!node || !lacksOnly(work, part)) return undefined;
  const { zk, clock } = work.services;
  const epoch = zk.sessionEpoch;
  const next = withNode(node, changes, clock.now(), 'launcher');
  const before = new Transaction<'node'>();
  before.add('node', setNode(next));
  try {
    before.add('node', ...(await work.nodes.unlockMost()).operations);
    const result = await writeFulfilled(work, before).catch((error: unknown) => lookForFulfilled(work, epoch, error));
    if (!work.isFulfilled) return undefined;
    const [stored] = typeof result === 'object' && 'results' in result ? result.results : [];
    return { ...next, stat: stored?.op === 'set' ? stored.stat : node.stat };
  } catch (error) {
    work.abandon(asError(error)); // whether it took effect is not known
    throw error;
  }
}

function lacksOnly({ parts, heard, abandonedFor }: RequestWork, last: Part): boolean {
  if (abandonedFor || heard.has('gone') || parts.all.length > NODES_PER_TRANSACTION) return false;
  return parts.all.every((part) => part.entry !== undefined && (part === last || part.state === 'ready'));
}

async function writeFulfilled(work: RequestWork, before: Transaction<'node'>): Promise<WriteResult> {
  const nodeIds = work.parts.nodeIds();
  const next = withRequest(work.request, { state: 'fulfilled', nodeIds }, work.services.clock.now(), 'launcher');
  const result = await work.heldRequest().writeOnly(next, before);
  if (typeof result === 'object' && 'results' in result) work.fulfilled();
  return result;
}

/** The answer was lost with the connection: as long as the lock is ours, the request tells what became of it. */
async function lookForFulfilled(work: RequestWork, epoch: number, error: unknown): Promise<void> {
  const { services, request, signal } = work;
  const { zk, clock } = services;
  if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) throw error;
  await zk.whenConnected(signal);
  if (zk.sessionEpoch !== epoch) throw error;
  await zk.sync('/');
  const { data, stat } = await zk.getData(requestPath(request.id));
  if (decodeRequest(request.id, data, stat, clock.now())?.state === 'fulfilled') work.fulfilled();
}
