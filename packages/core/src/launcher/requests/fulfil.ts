import {
  decodeRequest,
  isZooKeeperError,
  requestPath,
  withNode,
  withRequest,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { setNode, Transaction } from '../state/transaction.js';
import { NODES_PER_TRANSACTION } from './locks.js';
import { storeReady } from './launches.js';
import type { Part, ReadyChanges } from './request-parts.js';
import type { RequestWork, StepTo } from './request.js';
import { writeLocked, type WriteResult } from './writes.js';

/** Keeps the transaction that fulfils a request far below ZooKeeper's limit of 1 MiB. */
const UNLOCKS_PER_TRANSACTION = 1_000;

/** Whether the request is complete once this part is stored as ready, and both fit into one transaction. */
export function isCompleteWith({ parts, heard, isFulfilled }: RequestWork, last: Part): boolean {
  if (isFulfilled || heard.has('gone') || parts.all.length > NODES_PER_TRANSACTION) return false;
  return parts.all.every((part) => part.entry !== undefined && (part === last || part.state === 'ready'));
}

/**
 * Unlocks the nodes and writes `fulfilled` with their ids in one transaction, which also stores the last node if its launch
 * waits for that. If the request is gone or has changed, or a node's lock was lost, nothing is written and the work continues.
 */
export async function fulfil(
  work: RequestWork,
  { last }: Pick<StepTo<'fulfilling'>, 'last'>,
): Promise<StepTo<'collecting' | 'giving-up'>> {
  if (!last) return fulfilAlone(work);
  if (last.node && last.readyChanges) await fulfilWithLast(work, last, last.node, last.readyChanges);
  return { name: 'collecting' };
}

async function fulfilAlone(work: RequestWork): Promise<StepTo<'collecting' | 'giving-up'>> {
  const result = await writeFulfilled(work, await unlockMost(work));
  if (result === 'gone') work.notify('gone');
  else if (result === 'changed') {
    if (!(await work.reread()))
      return { name: 'giving-up', how: { kind: 'put-back', why: 'its record cannot be read' } };
  } else if ('node' in result) loseLock(work, result.node.path);
  return { name: 'collecting' };
}

/** If the transaction is refused, stores the node alone; the next attempt without it finds the reason. */
async function fulfilWithLast(work: RequestWork, last: Part, node: NodeRecord, ready: ReadyChanges): Promise<void> {
  const { zk, clock } = work.context;
  const epoch = zk.sessionEpoch;
  const next = withNode(node, ready.changes, clock.now(), 'launcher');
  const before = new Transaction<'node'>();
  before.add('node', setNode(next));
  last.readyChanges = undefined; // from here on, the result of this write settles the launch, even if the work ends meanwhile
  try {
    before.add('node', ...(await unlockMost(work)).operations);
    const result = await writeFulfilled(work, before).catch((error: unknown) => lookForFulfilled(work, epoch, error));
    if (!work.isFulfilled) return storeReady(work, node, ready);
    const [stored] = typeof result === 'object' && 'results' in result ? result.results : [];
    ready.stored({ ...next, stat: stored?.op === 'set' ? stored.stat : node.stat });
  } catch (error) {
    work.abandon(error); // it is not known whether the write took effect
    ready.failed(asError(error));
    throw error;
  }
}

async function writeFulfilled(work: RequestWork, before: Transaction<'node'>): Promise<WriteResult> {
  const nodeIds = work.parts.nodeIds();
  const next = withRequest(work.request, { state: 'fulfilled', nodeIds }, work.context.clock.now(), 'launcher');
  const result = await writeLocked(work.context, next, before);
  if (typeof result === 'object' && 'results' in result) work.fulfilled();
  return result;
}

/** After a lost answer, reads whether the write took effect, which is certain as long as the session holds the lock. */
async function lookForFulfilled(work: RequestWork, epoch: number, error: unknown): Promise<void> {
  const { context, request, signal } = work;
  const { zk, clock } = context;
  if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) throw error;
  await zk.whenConnected(signal);
  if (zk.sessionEpoch !== epoch) throw error;
  await zk.sync('/');
  const { data, stat } = await zk.getData(requestPath(request.id));
  if (decodeRequest(request.id, data, stat, clock.now())?.state === 'fulfilled') work.fulfilled();
}

/** Unlocks nodes in separate transactions if there are too many for one. @returns the unlock operations of the rest */
async function unlockMost({ context, parts }: RequestWork): Promise<Transaction<'node'>> {
  for (;;) {
    const held = parts.all.filter((part) => part.entry !== undefined);
    const batch = held.slice(0, UNLOCKS_PER_TRANSACTION);
    const unlocks = new Transaction<'node'>();
    for (const { entry } of batch) unlocks.add('node', { op: 'delete', path: entry ?? '' });
    if (batch.length === held.length) return unlocks;
    await unlocks.commit(context.committer);
    for (const part of batch) part.entry = undefined;
  }
}

/** Gives up a node whose lock entry another process has removed. @param entry - path of our entry */
function loseLock(work: RequestWork, entry: string): void {
  const { parts, logger } = work;
  const part = parts.all.find((candidate) => candidate.entry === entry);
  if (!part) return;
  logger.warn('Lock of a node was taken away', { nodeId: part.node?.id });
  if (part.node) work.unclaim(part.node.id);
  parts.lose(part);
}
