import { withRequest } from '@nodepool/zk-protocol';
import { isProbe } from '../plan/health-rules.js';
import type { Reason } from '../plan/types.js';
import { releaseNodes, type NodeFate } from './release.js';
import type { RequestWork } from './request.js';
import type { StepTo } from './stage.js';
import { declinedRequest } from './writes.js';

/** Ends the work on an accepted request without its nodes, which are given back. */
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

/** Ready nodes are free again, failed ones are left to be deleted. */
async function decline(work: RequestWork, why: Reason, launchError: string | null): Promise<StepTo<'ended'>> {
  const { view, tools, context, logger } = work;
  await releaseAll(work, 'free');
  for (;;) {
    const isLast = await tools.registry.isRefusedByAll(work.request, view.launcherId);
    const nowMs = context.clock.now();
    const declined = declinedRequest(work.request, view.launcherId, why, isLast, nowMs);
    const next = launchError === null ? declined : withRequest(declined, { launchError }, nowMs);
    const result = await work.lock.writeAndUnlock(next);
    if (result === 'gone') return letGo(work);
    if (result === 'done') {
      logger.info('Declined request', { reason: why.text, state: next.state });
      return { name: 'ended', outcome: 'declined' };
    }
    await work.reread();
  }
}

/** The request waits again, unlocked and without nodes. */
async function putBack(work: RequestWork, why: string): Promise<StepTo<'ended'>> {
  await releaseAll(work, 'free');
  for (;;) {
    const next = withRequest(work.request, { state: 'requested', nodeIds: [] }, work.context.clock.now());
    const result = await work.lock.writeAndUnlock(next);
    if (result === 'gone') return letGo(work);
    if (result === 'done') break;
    await work.reread();
  }
  work.logger.info('Put request back', { reason: why });
  return { name: 'ended', outcome: 'put-back' };
}

/** What the request holds frees capacity for others; it waits for its turn like all others. */
async function giveWay(work: RequestWork): Promise<StepTo<'ended'>> {
  await releaseAll(work, 'deleting');
  const ended = await putBack(work, 'a request with a better place may need what it holds');
  return ended.outcome === 'put-back' ? { name: 'ended', outcome: 'gave-way' } : ended;
}

/** The requestor has withdrawn the request: its nodes are free again, but for that of a probe, and its lock goes. */
async function letGo(work: RequestWork): Promise<StepTo<'ended'>> {
  work.logger.info('Request was withdrawn; releasing its nodes');
  await releaseAll(work, isProbe(work.request) ? 'deleting' : 'free');
  await work.lock.unlock();
  return { name: 'ended', outcome: 'gone' };
}

async function releaseAll(work: RequestWork, fate: NodeFate): Promise<void> {
  const { context, parts, logger } = work;
  work.setPaused(false);
  const held = parts.held();
  for (const part of parts.all) part.entry = undefined;
  await releaseNodes(context, held, logger, fate);
}
