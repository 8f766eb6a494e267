import { isZooKeeperError, withRequest } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import { reason } from '../plan/candidates.js';
import { isProbe } from '../plan/health-rules.js';
import type { Assignment, Reason } from '../plan/types.js';
import { collect, holdNodes, keepAway, takeNodes } from './collect.js';
import { fulfil } from './fulfil.js';
import { draft, launch, launchesRecorded } from './launches.js';
import { allocate, NODES_PER_TRANSACTION } from './locks.js';
import { releaseNodes, type ReleasedState } from './release.js';
import { recordsOf } from './request-parts.js';
import type { RequestWork, Stage, Step, StepTo } from './request.js';
import { declinedRequest, unlockRequest, writeAndUnlock } from './writes.js';

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
  fulfilling: row<StepTo<'fulfilling'>, 'collecting' | 'giving-up'>(['collecting', 'giving-up'], fulfil),
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

// --- accepting ------------------------------------------------------------------------------------------------------

/**
 * Locks the request and its first ready nodes in one transaction, and starts the launches. Without ready nodes, the
 * transaction also stores the records of the nodes to launch; with ready nodes, the driver completes these records only
 * once it knows the ready nodes. If another launcher was faster, the work ends as `busy`. A request of a launcher that is gone
 * is locked with the nodes that it has.
 */
async function accept(work: RequestWork, { assignment }: StepTo<'accepting'>): Promise<StepTo<'collecting' | 'ended'>> {
  const { context, parts, view, logger } = work;
  const { reused, toLaunch } = work.assign(assignment);
  work.setPaused(parts.has('missing') && view.pausesAtQuota);
  const first = reused.slice(0, NODES_PER_TRANSACTION);
  const isStored = reused.length === 0 && toLaunch.length <= NODES_PER_TRANSACTION;
  const drafts = isStored ? toLaunch.map((part) => draft(work, part)) : [];
  const options = { acceptRequest: true, drafts, launcher: view.launcherId };
  const result = await allocate(context, work.request, recordsOf(first), options);
  if ('conflict' in result) {
    const { conflict, subject } = result;
    logger.debug('Request or one of its nodes was taken by another launcher', { conflict, subject: subject.kind });
    keepAway(work, subject);
    return { name: 'ended', outcome: 'busy' };
  }
  if (result.requestEntry === undefined) throw new Error('the request was accepted without a lock entry');
  work.accepted(result.requestEntry);
  const { labels, requestor } = work.request;
  if (!work.wasLost) logger.info('Accepted request', { labels, requestor });
  else logger.info('Took over a request of a launcher that is gone', { labels, requestor, nodes: parts.nodeIds() });
  holdNodes(work, first, result.nodeEntries);
  launch(work, toLaunch, isStored ? result.made : undefined);
  await takeNodes(work, reused.slice(first.length));
  return { name: 'collecting' };
}

// --- giving up ------------------------------------------------------------------------------------------------------

/** Ends the work on an accepted request without fulfilling it, and releases its nodes. */
async function giveUp(work: RequestWork, { how }: StepTo<'giving-up'>): Promise<StepTo<'ended'>> {
  switch (how.kind) {
    case 'decline':
      return decline(work, how.reason, how.launchError);
    case 'put-back':
      return putBack(work, how.why);
    case 'give-way':
      return giveWay(work);
    case 'withdrawn':
      return withdraw(work);
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
    if (result === 'gone') return withdraw(work);
    if (result === 'done') {
      logger.info('Declined request', { reason: why.text, state: next.state });
      return { name: 'ended', outcome: 'declined' };
    }
    if (!(await work.reread())) return leave(work);
  }
}

/** Returns the request to the queue, unlocked and without nodes. */
async function putBack(work: RequestWork, why: string): Promise<StepTo<'ended'>> {
  await releaseAll(work, 'free');
  for (;;) {
    const next = withRequest(work.request, { state: 'requested', nodeIds: [] }, work.context.clock.now());
    const result = await writeAndUnlock(work.context, work.lockEntry, next);
    if (result === 'gone') return withdraw(work);
    if (result === 'done') break;
    if (!(await work.reread())) return leave(work);
  }
  work.logger.info('Returned request to the queue', { reason: why });
  return { name: 'ended', outcome: 'put-back' };
}

/** Only unlocks a request whose record cannot be read: it is a lost request once it can be read again. */
async function leave(work: RequestWork): Promise<StepTo<'ended'>> {
  await unlockRequest(work.context, work.lockEntry);
  work.logger.warn('Unlocked request: its record cannot be read');
  return { name: 'ended', outcome: 'put-back' };
}

/** Returns the request to the queue and deletes its nodes, so that a request ahead of it gets their capacity. */
async function giveWay(work: RequestWork): Promise<StepTo<'ended'>> {
  await releaseAll(work, 'deleting');
  const ended = await putBack(work, 'a request with a better place may need what it holds');
  return ended.outcome === 'put-back' ? { name: 'ended', outcome: 'gave-way' } : ended;
}

/** Releases the nodes and the lock of a withdrawn request. The node of a probe is deleted. */
async function withdraw(work: RequestWork): Promise<StepTo<'ended'>> {
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
