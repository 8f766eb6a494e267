import { isZooKeeperError } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import { reason } from '../plan/candidates.js';
import type { Assignment } from '../plan/types.js';
import { accept } from './accept.js';
import { collect } from './collect.js';
import { fulfil } from './fulfil.js';
import { giveUp } from './give-up.js';
import { launchesRecorded } from './launches.js';
import type { RequestWork, Stage, Step, StepTo } from './request.js';

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

/** One row of the table: the function of a stage, and the steps to which it may lead. */
interface StageRow<Of extends Stage, Next extends Step['name']> {
  readonly next: readonly Next[];
  run(work: RequestWork, stage: Of): Promise<StepTo<Next>>;
}

/** A stage that leads to another step than its row names does not compile. */
function row<Of extends Stage, const Next extends Step['name']>(
  next: readonly Next[],
  run: StageRow<Of, NoInfer<Next>>['run'],
): StageRow<Of, Next> {
  return { next, run };
}

/** The life of a request that a pool works on, stage by stage. `docs/state-machines.md` has the picture. */
export const REQUEST_STAGES = {
  accepting: row<StepTo<'accepting'>, 'collecting' | 'ended'>(['collecting', 'ended'], accept),
  collecting: row<StepTo<'collecting'>, 'collecting' | 'paused' | 'fulfilling' | 'giving-up' | 'ended'>(
    ['collecting', 'paused', 'fulfilling', 'giving-up', 'ended'],
    collect,
  ),
  paused: row<StepTo<'paused'>, 'collecting'>(['collecting'], async (work) => {
    await work.nextEvent();
    return { name: 'collecting' };
  }),
  fulfilling: row<StepTo<'fulfilling'>, 'collecting'>(['collecting'], fulfil),
  'giving-up': row<StepTo<'giving-up'>, 'ended'>(['ended'], giveUp),
} satisfies Record<Stage['name'], unknown>;

/** Runs a stage. @returns the next step */
function runStage(stage: Stage, work: RequestWork): Promise<Step> {
  switch (stage.name) {
    case 'accepting':
      return REQUEST_STAGES.accepting.run(work, stage);
    case 'collecting':
      return REQUEST_STAGES.collecting.run(work, stage);
    case 'paused':
      return REQUEST_STAGES.paused.run(work, stage);
    case 'fulfilling':
      return REQUEST_STAGES.fulfilling.run(work, stage);
    case 'giving-up':
      return REQUEST_STAGES['giving-up'].run(work, stage);
  }
}
