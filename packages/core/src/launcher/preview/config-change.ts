import type { PoolComponentRecord, RequestRecord } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../../config/compare.js';
import { describeLimitChanges } from './limit-changes.js';
import { planNodeChanges } from './node-changes.js';
import { findServingPools, whyHopeless, type Offer } from './servable.js';
import { planFreeNodes } from './free-nodes.js';
import type { ConfigChange, ConfigChangeInput, PartChange, RequestChange } from './types.js';

/** Computes the effects of a new configuration on the live system. Changes nothing. */
export function planConfigChange(input: ConfigChangeInput): ConfigChange {
  const { before, after, requests, offerBefore, offerAfter } = input;
  const [labelsBefore, labelsAfter] = [labelsOf(offerBefore.registered), labelsOf(offerAfter.registered)];
  const waiting = requests.filter((request) => request.state === 'requested');
  return {
    labels: { gained: without(labelsAfter, labelsBefore), lost: without(labelsBefore, labelsAfter) },
    providers: providerChanges(input),
    pools: poolChanges(input),
    limits: before ? describeLimitChanges(before, after) : [],
    ...planNodeChanges(input),
    freeNodes: planFreeNodes(input),
    waiting: waiting.length,
    ...requestChanges(waiting, offerBefore, offerAfter),
  };
}

function labelsOf(pools: readonly PoolComponentRecord[]): Set<string> {
  return new Set(pools.flatMap((pool) => pool.supportedLabels));
}

function without(all: Iterable<string>, others: { has(name: string): boolean }): string[] {
  return [...all].filter((name) => !others.has(name)).sort();
}

function changes(before: Iterable<string>, after: Iterable<string>, isSame: (name: string) => boolean): PartChange[] {
  const [old, next] = [new Set(before), new Set(after)];
  return [
    ...without(next, old).map((name) => ({ name, change: 'added' as const })),
    ...without(old, next).map((name) => ({ name, change: 'removed' as const })),
    ...[...next]
      .filter((name) => old.has(name) && !isSame(name))
      .sort()
      .map((name) => ({ name, change: 'changed' as const })),
  ];
}

function providerChanges({ before, after, offerBefore, offerAfter }: ConfigChangeInput): PartChange[] {
  if (before) {
    return changes(before.providers.keys(), after.providers.keys(), (name) => {
      const [old, next] = [before.providers.get(name), after.providers.get(name)];
      return old !== undefined && next !== undefined && sameProviderConfig(old, next);
    });
  }
  const names = ({ registered }: Offer) => registered.map((pool) => pool.providerName);
  return changes(names(offerBefore), names(offerAfter), () => true);
}

function poolChanges({ offerBefore, offerAfter }: ConfigChangeInput): PartChange[] {
  const byName = ({ registered }: Offer) =>
    new Map(registered.map((pool) => [`${pool.providerName}/${pool.name}`, pool]));
  const [old, next] = [byName(offerBefore), byName(offerAfter)];
  return changes(old.keys(), next.keys(), (name) => {
    const [a, b] = [old.get(name), next.get(name)];
    return a?.priority === b?.priority && sameMembers(a?.supportedLabels ?? [], b?.supportedLabels ?? []);
  });
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item));
}

function requestChanges(
  waiting: readonly RequestRecord[],
  before: Offer,
  after: Offer,
): Pick<ConfigChange, 'servable' | 'hopeless'> {
  const servable: RequestChange[] = [];
  const hopeless: RequestChange[] = [];
  for (const request of waiting) {
    const [was, will] = [findServingPools(request, before), findServingPools(request, after)];
    const base = { request: request.id, labels: request.labels };
    if (was.length === 0 && will.length > 0) servable.push({ ...base, why: will });
    if (was.length > 0 && will.length === 0) hopeless.push({ ...base, why: whyHopeless(request, after) });
  }
  return { servable, hopeless };
}
