import { holdNodes, keepAway, takeNodes } from './collect.js';
import { draft, launch } from './launches.js';
import { allocate, NODES_PER_TRANSACTION } from './locks.js';
import { recordsOf } from './request-parts.js';
import type { RequestWork, StepTo } from './request.js';

/**
 * Locks the request and its first ready nodes in one transaction, and starts the launches. Without ready nodes, the
 * transaction also stores the records of the nodes to launch; with ready nodes, the driver completes these records only
 * once it knows the ready nodes. If another launcher was faster, the work ends as `busy`.
 */
export async function accept(
  work: RequestWork,
  { assignment }: StepTo<'accepting'>,
): Promise<StepTo<'collecting' | 'ended'>> {
  const { context, parts, view, logger } = work;
  const { reused, toLaunch } = work.assign(assignment);
  work.setPaused(parts.has('missing') && view.pausesAtQuota);
  const first = reused.slice(0, NODES_PER_TRANSACTION);
  const isStored = reused.length === 0 && toLaunch.length <= NODES_PER_TRANSACTION;
  const drafts = isStored ? toLaunch.map((part) => draft(work, part)) : [];
  const result = await allocate(context, work.request, recordsOf(first), { acceptRequest: true, drafts });
  if ('conflict' in result) {
    const { conflict, subject } = result;
    logger.debug('Request or one of its nodes was taken by another launcher', { conflict, subject: subject.kind });
    keepAway(work, subject);
    return { name: 'ended', outcome: 'busy' };
  }
  if (result.requestEntry === undefined) throw new Error('the request was accepted without a lock entry');
  work.accepted(result.requestEntry);
  logger.info('Accepted request', { labels: work.request.labels, requestor: work.request.requestor });
  holdNodes(work, first, result.nodeEntries);
  launch(work, toLaunch, isStored ? result.made : undefined);
  await takeNodes(work, reused.slice(first.length));
  return { name: 'collecting' };
}
