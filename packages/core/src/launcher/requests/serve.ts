import { isZooKeeperError } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import { reason } from '../plan/candidates.js';
import type { Assignment } from '../plan/types.js';
import { giveUp } from './give-up.js';
import { launchesRecorded } from './launches.js';
import type { RequestWork } from './request.js';
import type { Step } from './stage.js';
import { runStage } from './stages.js';

/**
 * Works on a request stage by stage until it is fulfilled or given up. Never rejects. The caller must have claimed the nodes
 * of the assignment in the mirror for the work, which gives up the claims.
 */
export async function serve(work: RequestWork, assignment: Assignment): Promise<RequestOutcome> {
  try {
    let step: Step = { name: 'accepting', assignment };
    while (step.name !== 'ended') step = await runStage(step, work);
    return step.outcome;
  } catch (error) {
    return await escape(work, error);
  } finally {
    work.close();
  }
}

async function escape(work: RequestWork, error: unknown): Promise<RequestOutcome> {
  const { abandonedFor, logger } = work;
  if (work.isFulfilled) return 'fulfilled'; // the error came later
  if (abandonedFor || isZooKeeperError(error)) {
    const cause = abandonedFor ?? error;
    logger.warn('Abandoned request', { error: cause });
    work.abandon(cause);
    await launchesRecorded(work);
    return 'abandoned';
  }
  logger.error('Declining request after an unexpected error', { error });
  if (!work.isLocked) return 'busy';
  work.abandon(error); // nodes whose records are being created are released with the others
  if (!(await launchesRecorded(work))) return 'abandoned';
  try {
    const text = `unexpected error: ${asError(error).message}`;
    const why = reason('label-unavailable', text, "see the launcher's log");
    const ended = await giveUp(work, { name: 'giving-up', how: { kind: 'decline', reason: why, launchError: null } });
    return ended.outcome;
  } catch (second) {
    logger.error('Could not decline request', { error: second });
    return 'abandoned';
  }
}
