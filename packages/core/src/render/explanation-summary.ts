import type { LaunchExplanation, PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';

const MOST_HINDRANCES = 3;
/** Rules by which a pool takes nothing for a time, although it could. */
const CLOSED: ReadonlySet<PoolExplanation['rule']> = new Set([
  'paused-by-operator',
  'limited-by-operator',
  'max-concurrency',
]);

/** What becomes of a request, in one line. */
export function summarizeExplanation(explanation: RequestExplanation): string {
  const { requestId, state, nodes } = explanation;
  const subject = requestId === undefined ? 'A request for these labels' : `Request ${requestId}`;
  if (state === 'fulfilled') return `${subject} is fulfilled: nodes ${nodes.join(', ') || 'unknown'}`;
  if (state === 'failed') return `${subject} has failed: ${failureText(explanation)}`;
  return `${subject} ${outlook(explanation, requestId === undefined)}`;
}

function failureText({ pools, launchError }: RequestExplanation): string {
  const declined = unique(pools.filter((pool) => pool.action === 'decline').map((pool) => pool.text));
  return launchError ?? (declined.join('; ') || 'every pool has declined it or its launches failed');
}

function outlook({ pools, state, launches }: RequestExplanation, isHypothetical: boolean): string {
  const first = (action: PoolExplanation['action']) => nearest(pools.filter((pool) => pool.action === action));
  const would = isHypothetical ? 'would be' : 'is';
  const handling = first('handling');
  if (handling) {
    return handling.rule === 'accept'
      ? `${would} being served by ${nameOf(handling)}${launchesText(launches)}`
      : `is accepted by ${nameOf(handling)}, which waits: ${handling.text}${hindrancesText(handling)}`;
  }
  if (state === 'pending') return 'is being handled by a pool of another launcher';
  const accept = first('accept');
  if (accept)
    return isHypothetical ? `would be served at once by ${nameOf(accept)}` : `can be served by ${nameOf(accept)} now`;
  const wait = first('wait');
  if (wait)
    return `${isHypothetical ? 'would wait' : 'waits'} for ${nameOf(wait)}${aheadText(wait)}: ${wait.text}${hindrancesText(wait)}`;
  const foreign = first('foreign');
  if (foreign) return `${isHypothetical ? 'would be' : 'is'} left to ${nameOf(foreign)} of another launcher`;
  if (pools.some((pool) => mayComeTo(pool, pools))) {
    return `${isHypothetical ? 'would be' : 'is'} left to a pool that has not answered yet`;
  }
  return hopelessText(pools, isHypothetical);
}

/** Whether a pool that leaves the request to others may get it, or leaves it to one that has not been heard of. */
function mayComeTo({ action, details }: PoolExplanation, pools: readonly PoolExplanation[]): boolean {
  if (action === 'yield') return true;
  if (action !== 'defer' || !Array.isArray(details['pools'])) return false;
  const declining = pools
    .filter((pool) => pool.action === 'decline')
    .map(({ provider, pool }) => `${provider}/${pool}`);
  return details['pools'].some((name) => !declining.includes(String(name)));
}

function hopelessText(pools: readonly PoolExplanation[], isHypothetical: boolean): string {
  const verb = isHypothetical ? 'would wait' : 'waits';
  if (pools.length === 0) return `${verb} for a launcher: no pool is registered`;
  if (pools.some((pool) => pool.rule === 'stopping')) return `${verb} for another launcher: the one asked is stopping`;
  const closed = pools.find((pool) => pool.action === 'defer' && CLOSED.has(pool.rule));
  if (closed) return `${verb} until ${nameOf(closed)} takes requests again: ${closed.text}`;
  const reasons = unique(pools.filter((pool) => pool.action === 'decline').map((pool) => pool.text));
  const text = `${isHypothetical ? 'would fail' : 'fails'}: no pool can serve it`;
  return reasons.length > 0 ? `${text} (${reasons.join('; ')})` : text;
}

function nearest(pools: readonly PoolExplanation[]): PoolExplanation | undefined {
  return [...pools].sort((a, b) => (a.position ?? 0) - (b.position ?? 0))[0];
}

function nameOf({ provider, pool }: PoolExplanation): string {
  return `pool "${provider}/${pool}"`;
}

/** The text of a reason already says it for requests behind others of their kind. */
function aheadText({ position, details }: PoolExplanation): string {
  if (position === undefined || position === 0 || 'position' in details) return '';
  return `, ${position} ahead`;
}

/** What keeps the pool from having more nodes; of many the first ones. */
function hindrancesText({ hindrances }: PoolExplanation): string {
  if (hindrances.length === 0) return '';
  const more = hindrances.length - MOST_HINDRANCES;
  return `: ${hindrances.slice(0, MOST_HINDRANCES).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** What went wrong so far while its nodes are made. */
function launchesText(launches: readonly LaunchExplanation[]): string {
  const errors = unique(launches.flatMap(({ error }) => (error === null ? [] : [error])));
  return errors.length === 0 ? '' : `: ${errors.slice(0, MOST_HINDRANCES).join('; ')}`;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
