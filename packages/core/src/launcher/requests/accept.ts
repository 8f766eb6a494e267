import { allocate, NODES_PER_TRANSACTION } from './allocation.js';
import { HeldRequest } from './held-request.js';
import { recordsOf } from './request-parts.js';
import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';

/**
 * Locks the request and the first of its nodes, in one transaction, and begins to launch what is to be made. Where no
 * ready node is taken, the records of nodes to be made are stored by that transaction too: with one, the driver chooses
 * only after it has been told of it. Where another launcher was quicker the work ends as `busy`.
 */
export async function accept(
  work: RequestWork,
  { assignment }: StepTo<'accepting'>,
): Promise<StepTo<'collecting' | 'ended'>> {
  const { services, pool, parts, nodes, logger } = work;
  const { reused, toLaunch } = work.assign(assignment);
  work.setPaused(parts.has('missing') && pool.pausesAtQuota);
  const first = reused.slice(0, NODES_PER_TRANSACTION);
  const isStored = reused.length === 0 && toLaunch.length <= NODES_PER_TRANSACTION;
  const drafts = isStored ? work.launches.draft(work.request, toLaunch) : [];
  const result = await allocate(services, work.request, recordsOf(first), { acceptRequest: true, drafts });
  if ('conflict' in result) {
    const { conflict, subject } = result;
    logger.debug('Request or one of its nodes was taken by another launcher', { conflict, subject: subject.kind });
    nodes.keepAway(subject);
    return { name: 'ended', outcome: 'busy' };
  }
  if (result.requestEntry === undefined) throw new Error('the request was accepted without a lock entry');
  work.accepted(new HeldRequest(services, result.requestEntry));
  logger.info('Accepted request', { labels: work.request.labels, requestor: work.request.requestor });
  nodes.hold(first, result.nodeEntries);
  work.launch(toLaunch, isStored ? result.made : undefined);
  await nodes.take(work.request, reused.slice(first.length));
  return { name: 'collecting' };
}
