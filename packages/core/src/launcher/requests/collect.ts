import { reason } from '../plan/candidates.js';
import type { Part } from './request-parts.js';
import type { RequestWork } from './request-work.js';
import type { Ending, StepTo } from './stage.js';

/** Takes and launches what the request has been given, until it can be brought to an end or waits for capacity. */
export async function collect(work: RequestWork): Promise<StepTo<'collecting' | 'paused' | 'ending'>> {
  if (work.abandonedFor) throw work.abandonedFor;
  await work.takeResumed();
  const how = work.parts.has('working') ? undefined : chooseEnding(work);
  if (how) return { name: 'ending', how };
  const waits = work.parts.has('missing') && !work.parts.has('failed') && !work.heard.has('gone');
  if (waits && work.pool.pausesAtQuota) return { name: 'paused' };
  work.setPaused(false);
  await work.nextEvent();
  return { name: 'collecting' };
}

/** Nothing is under way. @returns how the work ends now; `undefined`: the request waits for capacity */
function chooseEnding(work: RequestWork): Ending | undefined {
  const { heard, parts, pool, yieldTimer } = work;
  if (work.isFulfilled) return { kind: 'fulfil' };
  if (heard.has('gone')) return { kind: 'let-go' };
  const failed = parts.find('failed');
  if (failed) return declineAfterFailure(work, failed);
  if (!parts.has('missing')) return { kind: 'fulfil' };
  if (!pool.pausesAtQuota || heard.has('draining')) {
    return { kind: 'put-back', why: 'a node it was to get is not available' };
  }
  if (heard.has('hopeless')) return { kind: 'put-back', why: 'the pool can no longer serve it' };
  return yieldTimer.isDue ? { kind: 'give-way' } : undefined;
}

function declineAfterFailure({ request, pool }: RequestWork, { label, error }: Part): Ending {
  const handOver = error && pool.handOver(request, label, error);
  if (handOver) return { kind: 'decline', reason: handOver, launchError: null };
  const launchError = error?.message ?? 'no reason was given';
  const text = `launch of "${label}" failed: ${launchError}`;
  return { kind: 'decline', reason: reason('label-unavailable', text, 'see the launch error', { label }), launchError };
}
