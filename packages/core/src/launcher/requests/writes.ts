import {
  encodeRequest,
  requestLockPath,
  requestPath,
  withRequest,
  type Operation,
  type OperationResult,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Reason, RuleName } from '../plan/types.js';
import type { Context } from '../state/context.js';
import { isRefusal, proveUnlocked, Transaction } from '../state/transaction.js';

/** The rule of a pool that has handed a request over to another one. */
const HANDED_OVER: RuleName = 'failed-over';

/** The result of writing a request that must not be locked. */
export type RequestWrite = 'done' | 'busy' | 'changed' | 'gone';

/** The request as declined by one pool: `failed` if no other pool could serve it, otherwise `requested`. */
export function declinedRequest(
  request: RequestRecord,
  launcherId: string,
  reason: Reason,
  isLast: boolean,
  nowMs: number,
): RequestRecord {
  const declined = withRequest(
    request,
    {
      state: 'requested',
      declinedBy: request.declinedBy.includes(launcherId) ? request.declinedBy : [...request.declinedBy, launcherId],
      nodeIds: [],
      declineReasons: {
        ...request.declineReasons,
        [launcherId]: { rule: reason.rule, text: reason.text, timeMs: nowMs },
      },
    },
    nowMs,
  );
  return isLast ? refusedRequest(declined, nowMs) : declined;
}

/**
 * A request that every pool has declined: `failed`, unless a pool only handed it over after a failed launch. Such pools get it
 * back, with all their attempts, as there are no others any more.
 */
export function refusedRequest(request: RequestRecord, nowMs: number): RequestRecord {
  const declinedBy = request.declinedBy.filter((id) => request.declineReasons[id]?.rule !== HANDED_OVER);
  if (declinedBy.length === request.declinedBy.length) return withRequest(request, { state: 'failed' }, nowMs);
  return withRequest(request, { declinedBy }, nowMs);
}

/**
 * Writes a request that this process has not locked. The same transaction proves that no other process has locked it, so that
 * this needs no lock of its own.
 */
export async function writeUnlockedRequest(context: Context, next: RequestRecord): Promise<RequestWrite> {
  const root = requestLockPath(next.id);
  let directoryExists = context.mirror.requests.hasLockDirectory(next.id);
  for (let attempt = 1; ; attempt++) {
    const transaction = new Transaction<'lock' | 'request'>();
    transaction.add('lock', ...proveUnlocked(root, directoryExists));
    transaction.add('request', setRequest(next));
    try {
      await transaction.commit(context.committer);
      return 'done';
    } catch (error) {
      if (!isRefusal<'lock' | 'request'>(error)) throw error;
      if (error.owner === 'request') return error.kind === 'gone' ? 'gone' : 'changed';
      if (error.kind === 'locked' || attempt === 4) return 'busy';
      directoryExists = error.kind === 'directory-exists';
    }
  }
}

/** Writes a request's body if no other process has written it since it was read. */
export function setRequest(request: RequestRecord): Operation {
  return {
    op: 'set',
    path: requestPath(request.id),
    data: encodeRequest(request),
    version: request.stat?.version ?? -1,
  };
}

// --- locked requests ------------------------------------------------------------------------------------------------

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
