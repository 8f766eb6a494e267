import { withRequest } from '@nodepool/zk-protocol';
import { isProbe } from '../plan/health-rules.js';
import type { Reason } from '../plan/types.js';
import { releaseNodes, type ReleasedState } from './release.js';
import type { RequestWork, StepTo } from './request.js';
import { declinedRequest, unlockRequest, writeAndUnlock } from './writes.js';

/** Ends the work on an accepted request without fulfilling it, and releases its nodes. */
export async function giveUp(work: RequestWork, { how }: StepTo<'giving-up'>): Promise<StepTo<'ended'>> {
  switch (how.kind) {
    case 'decline':
      return decline(work, how.reason, how.launchError);
    case 'put-back':
      return putBack(work, how.why);
    case 'give-way':
      return giveWay(work);
    case 'let-go':
      return letGo(work);
  }
}

/** Deallocates ready nodes; the reaper deletes failed ones. */
async function decline(work: RequestWork, why: Reason, launchError: string | null): Promise<StepTo<'ended'>> {
  const { view, tools, context, logger } = work;
  await releaseAll(work, 'free');
  for (;;) {
    const isLast = await tools.registry.isRefusedByAll(work.request, view.launcherId);
    const nowMs = context.clock.now();
    const declined = declinedRequest(work.request, view.launcherId, why, isLast, nowMs);
    const next = launchError === null ? declined : withRequest(declined, { launchError }, nowMs);
    const result = await writeAndUnlock(context, work.lockEntry, next);
    if (result === 'gone') return letGo(work);
    if (result === 'done') {
      logger.info('Declined request', { reason: why.text, state: next.state });
      return { name: 'ended', outcome: 'declined' };
    }
    await work.reread();
  }
}

/** Returns the request to the queue, unlocked and without nodes. */
async function putBack(work: RequestWork, why: string): Promise<StepTo<'ended'>> {
  await releaseAll(work, 'free');
  for (;;) {
    const next = withRequest(work.request, { state: 'requested', nodeIds: [] }, work.context.clock.now());
    const result = await writeAndUnlock(work.context, work.lockEntry, next);
    if (result === 'gone') return letGo(work);
    if (result === 'done') break;
    await work.reread();
  }
  work.logger.info('Returned request to the queue', { reason: why });
  return { name: 'ended', outcome: 'put-back' };
}

/** Returns the request to the queue and deletes its nodes, so that a request ahead of it gets their capacity. */
async function giveWay(work: RequestWork): Promise<StepTo<'ended'>> {
  await releaseAll(work, 'deleting');
  const ended = await putBack(work, 'a request with a better place may need what it holds');
  return ended.outcome === 'put-back' ? { name: 'ended', outcome: 'gave-way' } : ended;
}

/** Releases the nodes and the lock of a withdrawn request. The node of a probe is deleted. */
async function letGo(work: RequestWork): Promise<StepTo<'ended'>> {
  work.logger.info('Request was withdrawn; releasing its nodes');
  await releaseAll(work, isProbe(work.request) ? 'deleting' : 'free');
  await unlockRequest(work.context, work.lockEntry);
  return { name: 'ended', outcome: 'gone' };
}

async function releaseAll(work: RequestWork, state: ReleasedState): Promise<void> {
  const { context, parts, logger } = work;
  work.setPaused(false);
  const held = parts.held();
  for (const part of parts.all) part.entry = undefined;
  await releaseNodes(context, held, logger, state);
}
