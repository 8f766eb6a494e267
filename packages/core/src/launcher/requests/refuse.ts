import type { RequestRecord } from '@nodepool/zk-protocol';
import type { Reason } from '../plan/types.js';
import type { Context } from '../state/context.js';
import type { RequestTools } from './request.js';
import { declinedRequest, refusedRequest, writeUnlockedRequest, type RequestWrite } from './writes.js';

/** Whether every pool has declined the request, because the last one that had not has left the registry. */
export function isHopeless({ view, registry }: RequestTools, request: RequestRecord): boolean {
  if (request.state !== 'requested' || !request.declinedBy.includes(view.launcherId)) return false;
  return registry.seemsRefusedByAll(request);
}

/**
 * Declines a request that this process has not accepted. If no other pool could serve it, it becomes `failed`.
 * @param why - omit if the pool has declined it before: it becomes `failed` if all other pools have declined it too
 * @returns `undefined` if nothing was written
 */
export async function refuse(
  context: Context,
  tools: RequestTools,
  request: RequestRecord,
  why?: Reason,
): Promise<RequestWrite | undefined> {
  const { view, registry } = tools;
  const isLast = await registry.isRefusedByAll(request, why && view.launcherId);
  const nowMs = context.clock.now();
  if (!why && !isLast) return undefined;
  const next = why ? declinedRequest(request, view.launcherId, why, isLast, nowMs) : refusedRequest(request, nowMs);
  const result = await writeUnlockedRequest(context, next);
  if (result !== 'done') return result;
  const { provider, pool } = view;
  const { id: requestId, eventId } = request;
  context.events.emit('requestEnded', { outcome: 'declined', request, provider, pool: pool.name });
  const reason = why?.text ?? 'every registered pool has declined it';
  context.logger.info('Declined request', { requestId, eventId, reason, state: next.state });
  return result;
}
