import {
  encodeRequest,
  requestLockPath,
  requestPath,
  withRequest,
  type Operation,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Reason } from '../plan/types.js';
import type { Services } from './services.js';
import { isRefusal, Transaction } from './transaction.js';

/** How an attempt to write a request under its lock ended. */
export type RequestWrite = 'done' | 'busy' | 'changed' | 'gone';

/** The request as declined by one pool: `failed` when every registered pool has declined, else `requested` again. */
export function declinedRequest(
  request: RequestRecord,
  launcherId: string,
  reason: Reason,
  registered: readonly string[],
  nowMs: number,
): RequestRecord {
  const declinedBy = request.declinedBy.includes(launcherId) ? request.declinedBy : [...request.declinedBy, launcherId];
  const everybody = registered.every((id) => declinedBy.includes(id));
  return withRequest(
    request,
    {
      state: everybody ? 'failed' : 'requested',
      declinedBy,
      nodeIds: [],
      declineReasons: {
        ...request.declineReasons,
        [launcherId]: { rule: reason.rule, text: reason.text, timeMs: nowMs },
      },
    },
    nowMs,
  );
}

/**
 * Rewrites a request that this process has not locked: lock, write and unlock in one transaction, so that it is never
 * seen locked for nothing.
 */
export async function writeUnlockedRequest(services: Services, next: RequestRecord): Promise<RequestWrite> {
  const root = requestLockPath(next.id);
  for (let directoryExists = false, attempt = 1; ; attempt++) {
    const transaction = new Transaction<'lock' | 'request'>();
    if (directoryExists) transaction.add('lock', { op: 'delete', path: root });
    transaction.add('lock', { op: 'create', path: root });
    transaction.add('request', setRequest(next));
    transaction.add('lock', { op: 'delete', path: root });
    try {
      await transaction.commit(services.committer);
      return 'done';
    } catch (error) {
      if (!isRefusal<'lock' | 'request'>(error)) throw error;
      if (error.owner === 'request') return error.kind === 'gone' ? 'gone' : 'changed';
      if (error.kind === 'locked' || attempt === 4) return 'busy';
      directoryExists = error.kind === 'directory-exists';
    }
  }
}

/** Writes a request's body if nobody else has written it since it was read. */
export function setRequest(request: RequestRecord): Operation {
  return {
    op: 'set',
    path: requestPath(request.id),
    data: encodeRequest(request),
    version: request.stat?.version ?? -1,
  };
}
