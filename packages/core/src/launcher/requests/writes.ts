import {
  encodeRequest,
  requestLockPath,
  requestPath,
  withRequest,
  type Operation,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Reason, RuleName } from '../plan/types.js';
import type { Context } from '../state/context.js';
import { isRefusal, Transaction } from '../state/transaction.js';

/** The rule of a pool that has left a request to others. */
const HANDED_OVER: RuleName = 'failed-over';

/** How an attempt to write a request under its lock ended. */
export type RequestWrite = 'done' | 'busy' | 'changed' | 'gone';

/** The request as declined by one pool: `failed` when that is the last one that could serve it, else `requested` again. */
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
 * A request that every pool has declined: `failed`, unless some only left it to others after a launch that failed. These
 * have it again, with all the attempts they are allowed, because now there are no others.
 */
export function refusedRequest(request: RequestRecord, nowMs: number): RequestRecord {
  const declinedBy = request.declinedBy.filter((id) => request.declineReasons[id]?.rule !== HANDED_OVER);
  if (declinedBy.length === request.declinedBy.length) return withRequest(request, { state: 'failed' }, nowMs);
  return withRequest(request, { declinedBy }, nowMs);
}

/**
 * Rewrites a request that this process has not locked: a proof that no other process has, and the write, in one
 * transaction, so that it is never seen locked for nothing.
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

/**
 * Operations that are refused while any process holds or waits for a lock, and leave its directory as it was: a process
 * which has made sure that it exists finds it when making the entry in it.
 */
export function proveUnlocked(root: string, directoryExists: boolean): Operation[] {
  const remove: Operation = { op: 'delete', path: root };
  const make: Operation = { op: 'create', path: root };
  return directoryExists ? [remove, make] : [make, remove];
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
