import { isIdle, UNLOCKED_GARBAGE_STATES, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolView } from './types.js';

/**
 * What to do with a node.
 * - `keep` nothing
 * - `deallocate` make a ready node free, as the request that it is allocated to does not need it any more
 * - `delete` its use is over: delete the resource behind the record, then the record
 */
export type NodeVerdict = 'keep' | 'deallocate' | 'delete';

/** Facts about an unlocked node beside its record. */
export interface NodeFacts {
  /** The request that `allocated_to` names; `undefined` if it is gone. */
  readonly request: Pick<RequestRecord, 'state'> | undefined;
  /** A process has locked that request. */
  readonly isRequestLocked: boolean;
  /** How long this process, by its own clock, has seen the record in state `init` and needed by no request, or {@link isLeftOut}. */
  readonly unwantedForMs: number;
  /** The pool that created the record has left the registry. */
  readonly hasLauncherLeft: boolean;
  /** This launcher has the node's provider, configured or draining. */
  readonly isOurs: boolean;
  /** It is being made, and can be finished for its request although the launcher that began is gone. */
  readonly isUnfinished: boolean;
}

/** A record in state `init` that no launcher has locked for this long, and no request needs, is garbage. */
export const NEVER_LOCKED_MS = 60_000;

/** States of a node after its use. */
const AFTER_USE: ReadonlySet<string> = new Set(['in-use', 'used']);

/** Whether the use of an unlocked node is over. */
export const isUsed = ({ state }: Pick<NodeRecord, 'state'>): boolean => AFTER_USE.has(state);

/** Decides whether an unlocked node stays, is deallocated, or is deleted. A locked node always stays. */
export function judgeNode(node: NodeRecord, facts: NodeFacts): NodeVerdict {
  // a record without a provider has no resource; it is removed once it is marked `deleted`
  const isOurs = node.provider === null ? node.state === 'deleted' : facts.isOurs;
  if (!isOurs) return 'keep';
  if (isOfLostRequest(node, facts)) return 'keep';
  if (UNLOCKED_GARBAGE_STATES.has(node.state)) return 'delete';
  if (isLeftOut(node, facts) && facts.unwantedForMs > NEVER_LOCKED_MS) return 'deallocate';
  if (!isUnwanted(node, facts.request)) return 'keep';
  if (node.state === 'ready') return 'deallocate';
  // its launcher died before it locked the record; a living one needs a moment for that, not a minute
  const wasNeverLocked = facts.hasLauncherLeft || facts.unwantedForMs > NEVER_LOCKED_MS;
  return node.state === 'init' && wasNeverLocked ? 'delete' : 'keep';
}

/**
 * Whether an unlocked node may be finished: its request is lost, and not yet served with it or put back. The latter takes the node
 * from the request, so no node is kept without end. A process that has locked the request has locked the nodes that it wants, but for
 * records that it is about to lock.
 */
function isOfLostRequest({ state }: NodeRecord, { request, isRequestLocked, isUnfinished }: NodeFacts): boolean {
  const isLeftOut = isRequestLocked && state === 'building';
  return isUnfinished && request?.state === 'pending' && !isLeftOut;
}

/** Whether the node is allocated to a request that does not need it. @param request - that `allocated_to` names */
export function isUnwanted(node: NodeRecord, request: Pick<RequestRecord, 'state'> | undefined): boolean {
  return node.allocatedTo !== null && !holdsNodes(request);
}

/**
 * Whether the work on a request does not know a ready node that is allocated to it, as its record could not be read when the work
 * began: it has locked all others.
 */
export function isLeftOut(
  { state }: Pick<NodeRecord, 'state'>,
  { request, isRequestLocked }: Pick<NodeFacts, 'request' | 'isRequestLocked'>,
): boolean {
  return state === 'ready' && isRequestLocked && request?.state === 'pending';
}

/** Whether a request keeps its nodes: not once it is gone, back in the queue, or failed. */
export function holdsNodes(request: Pick<RequestRecord, 'state'> | undefined): boolean {
  return request !== undefined && request.state !== 'requested' && request.state !== 'failed';
}

/** How old a node may get in its state, and which setting says so. */
export interface AgeLimit {
  readonly key: 'max-ready-age' | 'max-hold-age' | 'hold_expiration';
  readonly ms: number;
}

/**
 * How long a node may stay in its state: a free or stopped one for the shortest `max-ready-age` of its labels, a held one for
 * `max-hold-age` or its own `hold_expiration`, whichever is shorter. `undefined`: no limit.
 */
export function ageLimitOf(
  node: NodeRecord,
  { labels, maxHoldAgeMs }: Pick<Config, 'labels' | 'maxHoldAgeMs'>,
): AgeLimit | undefined {
  if (isIdle(node)) {
    let limit: AgeLimit | undefined;
    for (const label of node.labels) limit = shorter(limit, 'max-ready-age', labels.get(label)?.maxReadyAgeMs);
    return limit;
  }
  if (node.state !== 'hold') return undefined;
  return shorter(shorter(undefined, 'max-hold-age', maxHoldAgeMs), 'hold_expiration', node.holdExpirationMs);
}

/** `0`, `null` and `undefined` limit nothing. */
function shorter(known: AgeLimit | undefined, key: AgeLimit['key'], ms: number | null | undefined) {
  return ms && ms > 0 && ms < (known?.ms ?? Infinity) ? { key, ms } : known;
}

/** The number of free nodes to keep of a label, and why. */
export interface NodeLevel {
  readonly nodes: number;
  readonly reason: string;
  /** `min-ready` applies, as too little is known. */
  readonly isFallback: boolean;
}

/** Whether a pool launches nodes of a label without a request of a client, regardless of image and quota. */
export function launchesLabel(
  { launches, maxConcurrency, pool }: Pick<PoolView, 'launches' | 'maxConcurrency' | 'pool'>,
  label: string,
): boolean {
  return launches && maxConcurrency !== 0 && pool.maxServers > 0 && pool.labels.has(label);
}
