import { withRequest } from '@nodepool/zk-protocol';
import type { Reason } from '../plan/types.js';
import { letGo } from './put-back.js';
import { declinedRequest } from './request-writes.js';
import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';

/**
 * Declines an accepted request: ready nodes are free again, failed ones are left to be deleted.
 * @param launchError - stored in the request for its requestor; `null`: nothing is
 */
export async function decline(work: RequestWork, why: Reason, launchError: string | null): Promise<StepTo<'ended'>> {
  await work.releaseNodes();
  const { pool, services, logger } = work;
  for (;;) {
    const isLast = await pool.isLastToDecline(work.request);
    const nowMs = services.clock.now();
    const declined = declinedRequest(work.request, pool.launcherId, why, isLast, nowMs);
    const next = launchError === null ? declined : withRequest(declined, { launchError }, nowMs);
    const result = await work.heldRequest().writeAndUnlock(next);
    if (result === 'gone') return letGo(work);
    if (result === 'done') {
      logger.info('Declined request', { reason: why.text, state: next.state });
      return { name: 'ended', outcome: 'declined' };
    }
    await work.rereadRequest();
  }
}
