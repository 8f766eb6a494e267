import type { Operation, OperationResult, RequestRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { isRefusal, Transaction } from '../state/transaction.js';
import { setRequest } from './writes.js';

/**
 * How a write of a locked request ended. `gone`: its requestor has deleted it; `changed`: another process wrote it; `node`:
 * the operation on a node that was refused. In these cases nothing was written and the lock is still held.
 */
export type WriteResult =
  { readonly results: readonly OperationResult[] } | 'gone' | 'changed' | { readonly node: Operation };

/** Writes a request that this process has locked, after `before`, in one transaction, and keeps the lock. */
export function writeLocked(
  context: Context,
  request: RequestRecord,
  before: Transaction<'node'>,
): Promise<WriteResult> {
  return write(context, request, before, []);
}

/**
 * Writes a request and releases its lock, in one transaction. The lock directory stays as long as the request does: other
 * processes may be about to create their entry in it.
 * @param entry - path of our entry in the lock
 */
export async function writeAndUnlock(
  context: Context,
  entry: string,
  request: RequestRecord,
): Promise<'done' | 'gone' | 'changed'> {
  const result = await write(context, request, undefined, [{ op: 'delete', path: entry }]);
  if (typeof result === 'string') return result;
  if ('node' in result) throw new Error('a transaction without nodes was refused because of a node');
  return 'done';
}

/** Releases the lock of a request without writing the request. */
export async function unlockRequest({ committer }: Context, entry: string): Promise<void> {
  const transaction = new Transaction<'lock'>();
  transaction.add('lock', { op: 'delete', path: entry });
  await transaction.commit(committer);
}

async function write(
  { committer }: Context,
  request: RequestRecord,
  before: Transaction<'node'> | undefined,
  after: readonly Operation[],
): Promise<WriteResult> {
  const transaction = new Transaction<'node' | 'request' | 'lock'>();
  if (before) transaction.add('node', ...before.operations);
  transaction.add('request', setRequest(request));
  transaction.add('lock', ...after);
  try {
    return { results: await transaction.commit(committer) };
  } catch (error) {
    if (!isRefusal<'node' | 'request' | 'lock'>(error)) throw error;
    if (error.owner === 'node') return { node: error.operation };
    if (error.owner === 'request') return error.kind === 'gone' ? 'gone' : 'changed';
    throw error;
  }
}
