import { isStandby, type NodeRecord } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { LabelOffer, Obstacle } from './label-offers.js';
import { firstOf } from '../../text/first-of.js';

/** Pools named in one message. */
const MOST_POOLS = 3;
/** A standby node that was taken is always missing for a moment. */
const STANDBY_PATIENCE_MS = 60_000;

/** Labels that no pool can serve now. */
export function unservedLabels(offers: ReadonlyMap<string, readonly LabelOffer[]>): FoundCondition[] {
  return [...offers].flatMap(([label, pools]) => unservedLabel(label, pools) ?? []);
}

function unservedLabel(label: string, pools: readonly LabelOffer[]): FoundCondition | undefined {
  const obstacles = pools.flatMap(({ obstacle }) => obstacle ?? []);
  if (obstacles.length < pools.length) return undefined;
  const providers = new Set(pools.map(({ provider }) => provider));
  const [onlyProvider = null] = providers.size === 1 ? providers : [];
  const evidence = { pools: pools.length, ...(onlyProvider !== null && { onlyProvider }) };
  if (pools.length === 0) {
    const nextStep = `add label "${label}" to a pool, or remove it from the configuration`;
    return newCondition('NotServed', {
      name: label,
      reason: 'NoPool',
      message: 'no pool of any launcher has it',
      nextStep,
      evidence,
    });
  }
  const reasons = new Set(obstacles.map(({ reason }) => reason));
  return newCondition('NotServed', {
    name: label,
    reason: reasons.size === 1 ? (obstacles[0]?.reason ?? '') : 'Several',
    message: `no pool can serve it now: ${textOf(pools)}`,
    nextStep: nextStepOf(label, obstacles),
    evidence,
  });
}

/** Each text once, as launchers that share a provider report the same. */
function textOf(pools: readonly LabelOffer[]): string {
  const texts = new Set(pools.map(({ provider, pool, obstacle }) => `${provider}/${pool}: ${obstacle?.message ?? ''}`));
  return firstOf([...texts], MOST_POOLS, '; ');
}

function nextStepOf(label: string, obstacles: readonly Obstacle[]): string {
  const steps = new Set(obstacles.map(({ nextStep }) => nextStep).filter((step) => step !== ''));
  const [first] = steps;
  if (first === undefined) return `nodepool explain --label ${label}`;
  return steps.size === 1 ? first : `${first}; nodepool explain --label ${label} has the other pools`;
}

/** When {@link missingStandby} is called, and since when it has found each label to lack nodes; it updates the latter. */
export interface StandbyTimes {
  readonly nowMs: number;
  readonly sinceMs: Map<string, number>;
}

/** Labels that have lacked standby nodes for a while. */
export function missingStandby(
  { labels, wantedOf }: { readonly labels: Iterable<string>; readonly wantedOf: (label: string) => number },
  nodes: Iterable<NodeRecord>,
  { nowMs, sinceMs: lackingSinceMs }: StandbyTimes,
): FoundCondition[] {
  const wanted = [...labels].filter((name) => wantedOf(name) > 0);
  const counts = countStandby(nodes, new Set(wanted));
  return wanted.flatMap((name) => {
    const minReady = wantedOf(name);
    const { ready, coming } = counts.get(name) ?? NONE;
    if (ready + coming >= minReady) {
      lackingSinceMs.delete(name);
      return [];
    }
    const sinceMs = lackingSinceMs.get(name) ?? nowMs;
    lackingSinceMs.set(name, sinceMs);
    if (nowMs - sinceMs < STANDBY_PATIENCE_MS) return [];
    const message = `it has ${ready} of ${minReady} standby nodes, and ${coming} are being made`;
    const nextStep = `nodepool explain --label ${name}`;
    const evidence = { ready, coming };
    return [newCondition('StandbyMissing', { name, reason: 'TooFew', message, nextStep, sinceMs, evidence })];
  });
}

interface StandbyCount {
  readonly ready: number;
  readonly coming: number;
}

const NONE: StandbyCount = { ready: 0, coming: 0 };

function countStandby(nodes: Iterable<NodeRecord>, labels: ReadonlySet<string>): Map<string, StandbyCount> {
  const counts = new Map<string, StandbyCount>();
  for (const node of nodes) {
    const isReady = isStandby(node);
    if (!isReady && node.state !== 'init' && node.state !== 'building') continue;
    for (const label of node.labels) {
      if (!labels.has(label)) continue;
      const { ready, coming } = counts.get(label) ?? NONE;
      counts.set(label, isReady ? { ready: ready + 1, coming } : { ready, coming: coming + 1 });
    }
  }
  return counts;
}
