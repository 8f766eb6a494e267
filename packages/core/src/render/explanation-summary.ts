import type { Condition } from '../contract/condition.js';
import type { LaunchExplanation, PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { brokenPool, unservedLabel } from './related-conditions.js';
import { firstOf } from '../text/first-of.js';

const MOST_BLOCKERS = 3;
/** Rules by which a pool temporarily accepts no requests that it could serve. */
const CLOSED: ReadonlySet<PoolExplanation['rule']> = new Set([
  'paused-by-operator',
  'limited-by-operator',
  'max-concurrency',
]);

/**
 * Summarizes the outlook of a request in one line.
 * @param conditions - active conditions of its labels and of the providers of its pools
 */
export function summarizeExplanation(explanation: RequestExplanation, conditions: readonly Condition[] = []): string {
  const { requestId, state, nodes } = explanation;
  const subject = requestId === undefined ? 'A request for these labels' : `Request ${requestId}`;
  if (state === 'fulfilled') return `${subject} is fulfilled: nodes ${nodes.join(', ') || 'unknown'}`;
  if (state === 'failed') return `${subject} has failed: ${failureText(explanation)}`;
  return `${subject} ${outlook(explanation, requestId === undefined, conditions)}`;
}

function failureText({ pools, launchError }: RequestExplanation): string {
  const declined = unique(pools.filter((pool) => pool.action === 'decline').map((pool) => pool.text));
  return launchError ?? (declined.join('; ') || 'every pool has declined it or its launches failed');
}

function outlook(
  { pools, state, launches, labels }: RequestExplanation,
  isHypothetical: boolean,
  conditions: readonly Condition[],
): string {
  const first = (action: PoolExplanation['action']) => nearest(pools.filter((pool) => pool.action === action));
  const would = isHypothetical ? 'would be' : 'is';
  const handling = first('handling');
  if (handling) {
    return handling.rule === 'accept'
      ? `${would} being served by ${nameOf(handling)}${launchesText(launches)}`
      : `is accepted by ${nameOf(handling)}, which waits: ${handling.text}${blockersText(handling)}`;
  }
  if (state === 'pending') return 'is being handled by a pool of another launcher';
  if (!pools.some((pool) => isOpen(pool, pools))) return hopelessText(pools, isHypothetical);
  const obstacle = obstacleText(labels, conditions);
  if (obstacle !== undefined) return `${isHypothetical ? 'would wait' : 'waits'}: ${obstacle}`;
  return openText(pools, isHypothetical, (pool) => brokenPool(pool, labels, conditions));
}

/** Message of the condition that no pool can serve one of the labels now. */
function obstacleText(labels: readonly string[], conditions: readonly Condition[]): string | undefined {
  const found = unservedLabel(labels, conditions);
  if (!found) return undefined;
  return labels.every((label) => label === found.name) ? found.message : `label "${found.name}": ${found.message}`;
}

/** Whether a pool serves the request or may serve it. */
function isOpen(pool: PoolExplanation, pools: readonly PoolExplanation[]): boolean {
  return ['accept', 'wait', 'foreign'].includes(pool.action) || mayComeTo(pool, pools);
}

function openText(
  pools: readonly PoolExplanation[],
  isHypothetical: boolean,
  brokenBy: (pool: PoolExplanation) => Condition | undefined,
): string {
  const first = (action: PoolExplanation['action']) => nearest(pools.filter((pool) => pool.action === action));
  const sound = pools.filter((pool) => pool.action === 'accept' && !brokenBy(pool));
  const accept = nearest(sound) ?? first('accept');
  if (accept) return acceptText(accept, isHypothetical, brokenBy(accept));
  const wait = first('wait');
  if (wait)
    return `${isHypothetical ? 'would wait' : 'waits'} for ${nameOf(wait)}${aheadText(wait)}: ${wait.text}${blockersText(wait)}`;
  const foreign = first('foreign');
  if (foreign) return `${isHypothetical ? 'would be' : 'is'} left to ${nameOf(foreign)} of another launcher`;
  return `${isHypothetical ? 'would be' : 'is'} left to a pool that has not answered yet`;
}

/** A provider that cannot launch nodes serves from its existing nodes; a provider that has not started serves nothing. */
function acceptText(accept: PoolExplanation, isHypothetical: boolean, broken: Condition | undefined): string {
  const name = nameOf(accept);
  if (broken?.type === 'NotStarted') {
    return `${isHypothetical ? 'would wait' : 'waits'}: no pool can serve it now: ${name}: ${broken.message}`;
  }
  if (broken)
    return `${isHypothetical ? 'would' : 'can'} be served by ${name} only from the nodes that it has: ${broken.message}`;
  return isHypothetical ? `would be served at once by ${name}` : `can be served by ${name} now`;
}

/** Whether a yielding pool may still get the request, or a pool defers to one that is not known to refuse it. */
function mayComeTo({ action, details }: PoolExplanation, pools: readonly PoolExplanation[]): boolean {
  if (action === 'yield') return true;
  if (action !== 'defer' || !Array.isArray(details['pools'])) return false;
  const refusing = pools
    .filter((pool) => pool.action === 'decline' || isClosed(pool))
    .map(({ provider, pool }) => `${provider}/${pool}`);
  return details['pools'].some((name) => !refusing.includes(String(name)));
}

function isClosed({ action, rule }: PoolExplanation): boolean {
  return action === 'defer' && CLOSED.has(rule);
}

function hopelessText(pools: readonly PoolExplanation[], isHypothetical: boolean): string {
  const verb = isHypothetical ? 'would wait' : 'waits';
  if (pools.length === 0) return `${verb} for a launcher: no pool is registered`;
  if (pools.some((pool) => pool.rule === 'stopping')) return `${verb} for another launcher: the one asked is stopping`;
  const closed = pools.find(isClosed);
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

/** Number of requests ahead; omitted if the text of the reason already contains the position. */
function aheadText({ position, details }: PoolExplanation): string {
  if (position === undefined || position === 0 || 'position' in details) return '';
  return `, ${position} ahead`;
}

/** The first few blockers that keep the pool from launching more nodes. */
function blockersText({ blockers }: PoolExplanation): string {
  return blockers.length === 0 ? '' : `: ${firstOf(blockers, MOST_BLOCKERS, '; ')}`;
}

/** Errors so far of the launches of its nodes. */
function launchesText(launches: readonly LaunchExplanation[]): string {
  const errors = unique(launches.flatMap(({ error }) => (error === null ? [] : [error])));
  return errors.length === 0 ? '' : `: ${errors.slice(0, MOST_BLOCKERS).join('; ')}`;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
