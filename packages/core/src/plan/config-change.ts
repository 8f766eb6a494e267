import type { NodeRecord, PoolComponentRecord, RequestRecord } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../config/compare.js';
import type { Config } from '../config/types.js';
import type { ChangePreview, ProviderConfig } from '../driver/types.js';
import { describeLimitChanges, type LimitChange } from './limit-changes.js';
import { planNodeChanges } from './node-changes.js';
import { findServingPools, whyHopeless, type Offer } from './servable.js';
import { planStandby } from './standby-changes.js';

/** What {@link planConfigChange} looks at. */
export interface ConfigChangeInput {
  /** The configuration in force; `undefined` when not known. */
  readonly before: Config | undefined;
  readonly after: Config;
  readonly nodes: readonly NodeRecord[];
  readonly requests: readonly RequestRecord[];
  /** Registered pools now. */
  readonly offerBefore: Offer;
  /** Registered pools as they would be. */
  readonly offerAfter: Offer;
  readonly nowMs: number;
  /** What the driver says of a provider's nodes; `undefined` when it says nothing. See `Driver.previewChange`. */
  preview(config: ProviderConfig, nodes: readonly NodeRecord[], all: readonly NodeRecord[]): ChangePreview | undefined;
}

/** A provider or pool that comes, goes or changes. */
export interface PartChange {
  /** `provider` or `provider/pool`. */
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** What becomes of a waiting request. */
export interface RequestChange {
  readonly request: string;
  readonly labels: readonly string[];
  /** Pools that could serve it, or why none can. */
  readonly why: readonly string[];
}

/** What a new configuration would do to the live system. */
export interface ConfigChange {
  /** Labels that registered pools would offer or would offer no more. */
  readonly labels: { readonly gained: readonly string[]; readonly lost: readonly string[] };
  /** A changed provider is replaced: the new one starts beside the old one, which ends what it has begun. */
  readonly providers: readonly PartChange[];
  readonly pools: readonly PartChange[];
  readonly limits: readonly LimitChange[];
  readonly register: readonly (ChangePreview['register'][number] & { readonly provider: string })[];
  readonly delete: readonly (ChangePreview['delete'][number] & { readonly provider: string })[];
  /** Standby nodes that would be launched because of a new or raised `min-ready`. */
  readonly standby: readonly { readonly label: string; readonly count: number }[];
  /** Nodes that would be left as they are, although nothing in the new configuration makes such nodes. */
  readonly kept: readonly { readonly name: string; readonly count: number; readonly text: string }[];
  readonly waiting: number;
  readonly servable: readonly RequestChange[];
  readonly hopeless: readonly RequestChange[];
}

/** Says what a new configuration would do to the live system. Decides only; nothing is done. */
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
    standby: planStandby(input),
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
