import type { NodeId } from '@nodepool/zk-protocol';
import { MIN_READY_REQUESTOR, reason } from '../plan/candidates.js';
import { findSuccessor } from '../plan/health-rules.js';
import type { Reason } from '../plan/types.js';
import { failureKindOf } from '../plan/failure.js';
import { isCompleteWith } from './fulfil.js';
import { launchExisting, launch, storeAllReady } from './launches.js';
import { allocate, NODES_PER_TRANSACTION, type Subject } from './locks.js';
import { recordsOf, type Part } from './request-parts.js';
import { releaseNodes, type ReleasedState } from './release.js';
import type { GivenUp, RequestWork, StepTo } from './request.js';

/** How long a node is avoided that another launcher took first, or that did not answer. */
const BUSY_NODE_PAUSE_MS = 50;

/** Takes and launches the assigned nodes, until the request is complete, cannot be served, or waits for capacity. */
export async function collect(
  work: RequestWork,
): Promise<StepTo<'collecting' | 'paused' | 'fulfilling' | 'giving-up' | 'ended'>> {
  const { parts, heard } = work;
  if (work.abandonedFor) throw work.abandonedFor;
  await takeAssigned(work);
  await replaceUnusable(work);
  const last = parts.all.find((part) => part.readyChanges && isCompleteWith(work, part));
  if (last) return { name: 'fulfilling', last };
  storeAllReady(work);
  if (!parts.has('working')) {
    if (work.isFulfilled) return { name: 'ended', outcome: 'fulfilled' };
    const how = chooseEnd(work);
    if (how === 'fulfil') return { name: 'fulfilling', last: undefined };
    if (how) return { name: 'giving-up', how };
  }
  const waits = parts.has('missing') && !parts.has('failed') && !heard.has('gone') && work.view.pausesAtQuota;
  work.setPaused(waits);
  if (waits) return { name: 'paused' };
  await work.nextEvent();
  return { name: 'collecting' };
}

/** Decides how the work ends, once no part is being worked on. @returns `undefined` if the request waits for capacity */
function chooseEnd(work: RequestWork): GivenUp | 'fulfil' | undefined {
  const { heard, parts, view } = work;
  if (heard.has('gone')) return { kind: 'withdrawn' };
  const failed = parts.find('failed');
  if (failed) return declineAfterFailure(work, failed);
  if (!parts.has('missing')) return 'fulfil';
  if (!view.pausesAtQuota || heard.has('draining')) {
    return { kind: 'put-back', why: 'a node it was to get is not available' };
  }
  if (work.request.requestor === MIN_READY_REQUESTOR) return declineFree(work);
  if (heard.has('hopeless')) return { kind: 'put-back', why: 'the pool can no longer serve it' };
  return work.isToGiveWay ? { kind: 'give-way' } : undefined;
}

/** A free node is not worth another one: waiting requests have unused nodes deleted, whose labels would request them again. */
function declineFree({ view }: RequestWork): GivenUp {
  const text = `provider "${view.provider}" had no capacity for it when it was launched`;
  const why = reason('pool-full', text, 'another pool has capacity, or it is requested again', {});
  return { kind: 'decline', reason: why, launchError: null };
}

function declineAfterFailure(work: RequestWork, { label, error }: Part): GivenUp {
  const handOver = error && handOverReason(work, label, error);
  if (handOver) return { kind: 'decline', reason: handOver, launchError: null };
  const launchError = error?.message ?? 'no reason was given';
  const text = `launch of "${label}" failed: ${launchError}`;
  return { kind: 'decline', reason: reason('label-unavailable', text, 'see the launch error', { label }), launchError };
}

/** Why a request is handed over to another pool after a failed launch; `undefined` if no pool could serve it. */
function handOverReason({ request, view }: RequestWork, label: string, error: Error): Reason | undefined {
  if (!view.steering || failureKindOf(error) === 'own') return undefined;
  const other = findSuccessor(request, view);
  if (!other) return undefined;
  const pool = `${other.providerName}/${other.name}`;
  return reason(
    'failed-over',
    `launch of "${label}" failed, and pool "${pool}" can serve the request: ${error.message}`,
    `pool "${pool}" serves it; were all others to decline, it would come back`,
    { label, provider: other.providerName, pool: other.name },
  );
}

/** Takes and launches nodes that were assigned since the request was accepted. */
async function takeAssigned(work: RequestWork): Promise<void> {
  for (let next = work.assigned.shift(); next; next = work.assigned.shift()) {
    launch(work, next.toLaunch);
    await takeNodes(work, next.reused);
  }
}

// --- ready nodes ----------------------------------------------------------------------------------------------------

/** Locks and allocates further ready nodes of an accepted request. Parts whose node another launcher took are missing again. */
export async function takeNodes(work: RequestWork, parts: readonly Part[]): Promise<void> {
  let rest = [...parts];
  while (rest.length > 0) {
    const batch = rest.slice(0, NODES_PER_TRANSACTION);
    const options = { acceptRequest: false, launcher: work.view.launcherId };
    const result = await allocate(work.context, work.request, recordsOf(batch), options);
    if (!('conflict' in result)) {
      holdNodes(work, batch, result.nodeEntries);
      rest = rest.slice(batch.length);
      continue;
    }
    keepAway(work, result.subject);
    rest = rest.filter((part) => part.state === 'working');
  }
}

/** Lets the driver check nodes that have been locked, and launches those that are not ready. */
export function holdNodes(work: RequestWork, parts: readonly Part[], entries: ReadonlyMap<NodeId, string>): void {
  const { context, handler } = work;
  for (const part of parts) {
    if (!part.node) continue;
    part.entry = entries.get(part.node.id);
    const node = (part.node = context.mirror.nodes.get(part.node.id) ?? part.node);
    if (node.state === 'building') {
      launchExisting(work, part);
      continue;
    }
    if (!work.acceptsNode(node)) {
      void reject(work, part, 'Node does not go with the others of the request').then(() => work.wake());
      continue;
    }
    handler.nodeReusedNotification?.(node);
    const answer = handler.checkReusableNode?.(node, work.signal) ?? true;
    if (answer === true) part.state = 'ready';
    else void awaitCheck(work, part, answer);
  }
}

async function awaitCheck(work: RequestWork, part: Part, answer: boolean | Promise<boolean>): Promise<void> {
  const { context, logger } = work;
  const { node } = part;
  let isUsable = false;
  try {
    isUsable = await answer;
  } catch (error) {
    logger.warn('Could not check a node', { nodeId: node?.id, error });
  }
  if (work.abandonedFor) return;
  if (isUsable) part.state = 'ready';
  else {
    await reject(work, part, 'Node does not answer; trying another');
    if (part.node === undefined && node)
      work.handler.nodeRejectedNotification?.(context.mirror.nodes.get(node.id) ?? node);
  }
  work.wake();
}

/** Deletes nodes whose machine is gone since they became ready: their labels are missing again. */
async function replaceUnusable(work: RequestWork): Promise<void> {
  if (work.isFulfilled) return;
  for (const part of work.parts.all) {
    if (part.state === 'ready' && part.unusable !== undefined) await reject(work, part, part.unusable, 'deleting');
  }
}

/** Releases a node that cannot serve the request. */
async function reject(work: RequestWork, part: Part, why: string, to: ReleasedState = 'free'): Promise<void> {
  const { node, entry } = part;
  if (!node || entry === undefined) return;
  const doing = to === 'free' ? why : 'The machine of a node that a request waits with is lost; it gets another';
  work.logger.warn(doing, { nodeId: node.id, why });
  try {
    await releaseNodes(work.context, [{ node, entry }], work.logger, to, why);
  } catch (error) {
    work.abandon(error);
    return;
  }
  work.parts.lose(part);
  unclaimLater(work, node.id);
}

/** Gives up an assigned node that is locked or has changed, and avoids it for a moment. */
export function keepAway(work: RequestWork, subject: Subject): void {
  if (subject.kind !== 'node') return;
  const part = work.parts.ofNode(subject.id);
  if (part) {
    endLaunch(work, part);
    work.parts.lose(part);
  }
  unclaimLater(work, subject.id);
}

/** The node of the part cannot be started after all. */
function endLaunch({ context }: RequestWork, part: Part): void {
  const { launch } = part;
  part.launch = undefined;
  if (launch) context.events.emit('launchEnded', { launch, state: undefined });
}

function unclaimLater(work: RequestWork, id: NodeId): void {
  work.context.clock.setTimer(BUSY_NODE_PAUSE_MS, () => work.unclaim(id));
}
