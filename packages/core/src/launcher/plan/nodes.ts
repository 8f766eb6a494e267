import { isFree, UNLOCKED_GARBAGE_STATES, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolView } from './types.js';

/**
 * What becomes of a node.
 * - `keep` it stays as it is
 * - `deallocate` it is ready, and the request it was kept for does not want it any more: any request may have it
 * - `hold` its use is over, and an operator has ordered to hold it then
 * - `delete` its use is over: what is behind the record goes, then the record
 */
export type NodeVerdict = 'keep' | 'deallocate' | 'hold' | 'delete';

/** What is known of an unlocked node besides its record. */
export interface NodeFacts {
  /** The request that `allocated_to` names; `undefined` when it is gone. */
  readonly request: Pick<RequestRecord, 'state'> | undefined;
  /** How long this process has known that the record is in state `init` and wanted by no request; clocks of others differ. */
  readonly unwantedForMs: number;
  /** The pool that made the record has left the registry. */
  readonly hasLauncherLeft: boolean;
  /** An operator has ordered to hold it after its use. */
  readonly isHoldOrdered: boolean;
  /** This launcher has the node's provider, configured or draining. */
  readonly isOurs: boolean;
}

/** A record in state `init` that no launcher has locked for this long, and no request wants, is garbage. */
export const NEVER_LOCKED_MS = 60_000;

/** States of a node that was used, before it is deleted. */
const AFTER_USE: ReadonlySet<string> = new Set(['in-use', 'used']);

/** Decides whether an unlocked node stays, is deallocated, or is deleted. A locked node always stays. */
export function judgeNode(node: NodeRecord, facts: NodeFacts): NodeVerdict {
  // a record without a provider has nothing behind it; it is removed once it is marked `deleted`
  const isOurs = node.provider === null ? node.state === 'deleted' : facts.isOurs;
  if (!isOurs) return 'keep';
  if (AFTER_USE.has(node.state) && facts.isHoldOrdered) return 'hold';
  if (UNLOCKED_GARBAGE_STATES.has(node.state)) return 'delete';
  if (!isUnwanted(node, facts.request)) return 'keep';
  if (node.state === 'ready') return 'deallocate';
  // the launcher died before it could lock the record; a living one needs a moment for that, not a minute
  const wasNeverLocked = facts.hasLauncherLeft || facts.unwantedForMs > NEVER_LOCKED_MS;
  return node.state === 'init' && wasNeverLocked ? 'delete' : 'keep';
}

/** Whether the node is kept for a request that does not want it. @param request - that `allocated_to` names */
export function isUnwanted(node: NodeRecord, request: Pick<RequestRecord, 'state'> | undefined): boolean {
  return node.allocatedTo !== null && !holdsNodes(request);
}

/** Whether nodes allocated to the request belong to it: not once it is gone, back in the queue, or refused by all pools. */
export function holdsNodes(request: Pick<RequestRecord, 'state'> | undefined): boolean {
  return request !== undefined && request.state !== 'requested' && request.state !== 'failed';
}

/** How old a node may get in its state, and which setting says so. */
export interface AgeLimit {
  readonly key: 'max-ready-age' | 'max-hold-age' | 'hold_expiration';
  readonly ms: number;
}

/**
 * How long a node may stay in its state: a free one for the shortest `max-ready-age` of its labels, a held one for
 * `max-hold-age` or its own `hold_expiration`, whichever is shorter. `undefined`: as long as it likes.
 */
export function ageLimitOf(
  node: NodeRecord,
  { labels, maxHoldAgeMs }: Pick<Config, 'labels' | 'maxHoldAgeMs'>,
): AgeLimit | undefined {
  if (isFree(node)) {
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

/** Nodes of one label that count for its `min-ready`. */
export interface StandbyCounts {
  /** Free nodes, also those locked at the moment. */
  readonly free: number;
  /** Nodes that some launcher has asked for and that are not ready yet. */
  readonly asked: number;
}

/** How many standby nodes of a label are missing and to be asked for. */
export function planStandby(minReady: number, { free, asked }: StandbyCounts): number {
  return Math.max(0, minReady - free - asked);
}

/** Whether a pool makes standby nodes of a label; its image and its quota may still say no. */
export function keepsStandby(
  { launches, maxConcurrency, pool }: Pick<PoolView, 'launches' | 'maxConcurrency' | 'pool'>,
  label: string,
): boolean {
  return launches && maxConcurrency !== 0 && pool.maxServers > 0 && pool.labels.has(label);
}
