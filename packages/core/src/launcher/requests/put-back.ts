import { withRequest } from '@nodepool/zk-protocol';
import { isProbe } from '../plan/health-rules.js';
import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';

/** The request waits again, unlocked and without nodes. */
export async function putBack(work: RequestWork, why: string): Promise<StepTo<'ended'>> {
  await work.releaseNodes();
  for (;;) {
    const next = withRequest(work.request, { state: 'requested', nodeIds: [] }, work.services.clock.now());
    const result = await work.heldRequest().writeAndUnlock(next);
    if (result === 'gone') return letGo(work);
    if (result === 'done') break;
    await work.rereadRequest();
  }
  work.logger.info('Put request back', { reason: why });
  return { name: 'ended', outcome: 'put-back' };
}

/** What the request holds frees capacity for others; it waits for its turn like all others. */
export async function giveWay(work: RequestWork): Promise<StepTo<'ended'>> {
  await work.releaseNodes('deleting');
  const ended = await putBack(work, 'a request with a better place may need what it holds');
  return ended.outcome === 'put-back' ? { name: 'ended', outcome: 'gave-way' } : ended;
}

/** The requestor has withdrawn the request: its nodes are free again, but for that of a probe, and its lock goes. */
export async function letGo(work: RequestWork): Promise<StepTo<'ended'>> {
  work.logger.info('Request was withdrawn; releasing its nodes');
  await work.releaseNodes(isProbe(work.request) ? 'deleting' : 'free');
  await work.heldRequest().unlock();
  return { name: 'ended', outcome: 'gone' };
}
