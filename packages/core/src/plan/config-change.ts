import type { NodeRecord, PoolComponentRecord, RequestRecord } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../config/compare.js';
import type { Config } from '../config/types.js';
import type { ChangePreview, ProviderConfig } from '../driver/types.js';
import { describeLimitChanges, type LimitChange } from './limit-changes.js';
import { findServingPools, whyHopeless, type Offer } from './servable.js';

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
  /** What the driver says of a provider's nodes; `undefined` when it says nothing. */
  preview(config: ProviderConfig, nodes: readonly NodeRecord[]): ChangePreview | undefined;
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
    ...nodeChanges(input),
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

function nodeChanges(input: ConfigChangeInput): Pick<ConfigChange, 'register' | 'delete' | 'kept'> {
  const { before, after, nodes, offerBefore, offerAfter } = input;
  const byProvider = groupBy(nodes, (node) => node.provider ?? '');
  const result = { register: [] as ConfigChange['register'][number][], delete: [] as ConfigChange['delete'][number][] };
  const kept: ConfigChange['kept'][number][] = [];
  for (const config of after.providers.values()) {
    const own = byProvider.get(config.name) ?? [];
    const preview = input.preview(config, own);
    for (const item of preview?.register ?? []) result.register.push({ ...item, provider: config.name });
    for (const item of preview?.delete ?? []) result.delete.push({ ...item, provider: config.name });
    if (!preview) kept.push(...poollessNodes(config, own));
  }
  const served = new Set(offerAfter.registered.map((pool) => pool.providerName));
  const lost = new Set([
    ...(before?.providers.keys() ?? []),
    ...offerBefore.registered.map((pool) => pool.providerName),
  ]);
  for (const name of lost) {
    const count = byProvider.get(name)?.length ?? 0;
    if (!served.has(name) && count > 0) kept.push({ name, count, text: REMOVED_PROVIDER });
  }
  return { ...result, kept };
}

const REMOVED_PROVIDER =
  'the provider is removed but its nodes stay, in ZooKeeper and in the cloud: to be rid of them, first give its pools ' +
  'max-servers: 0 and "nodepool delete" the nodes, and remove the provider when none is left';
const REMOVED_POOL = 'the pool is removed, its nodes stay until they are used or too old';

/** Nodes of pools that a configuration no longer has. */
function poollessNodes(config: ProviderConfig, nodes: readonly NodeRecord[]): ConfigChange['kept'][number][] {
  const lost = nodes.filter((node) => node.pool !== null && !config.pools.has(node.pool));
  return [...groupBy(lost, (node) => `${config.name}/${node.pool}`)].map(([name, { length }]) => ({
    name,
    count: length,
    text: REMOVED_POOL,
  }));
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

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
