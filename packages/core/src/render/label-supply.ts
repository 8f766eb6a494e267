import { isLent, type NodeRecord, type PoolComponentRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { foldConditions } from '../conditions/fold-conditions.js';
import type { SharedCondition } from '../conditions/merge-conditions.js';
import { withRanks, type Listing } from './listing.js';

/** Supply and demand of one label. */
export interface LabelSupply {
  readonly label: string;
  /** Pools that offer the label, as `provider/pool`. If empty, a request for the label fails. */
  readonly pools: readonly string[];
  /** Nodes available immediately. */
  readonly ready: number;
  readonly building: number;
  /** Allocated, in use or leased. */
  readonly inUse: number;
  /** Held for an operator. */
  readonly held: number;
  /** Requests waiting for the label, each counted once. */
  readonly waiting: number;
  /** Conditions of the label, of its nodes, and errors of its providers if all of them have one; in this order. */
  readonly conditions: readonly SharedCondition[];
}

/** Columns of `nodepool labels`. */
export const labelSupplyListing: Listing<LabelSupply> = withRanks(
  [
    { key: 'label', header: 'Label', level: 'brief', value: ({ label }) => label },
    { key: 'ready', header: 'Ready', level: 'brief', value: ({ ready }) => ready },
    { key: 'building', header: 'Building', level: 'brief', value: ({ building }) => building },
    { key: 'in_use', header: 'In Use', level: 'brief', value: ({ inUse }) => inUse },
    { key: 'hold', header: 'Hold', level: 'brief', value: ({ held }) => held },
    { key: 'waiting', header: 'Requests Waiting', level: 'brief', value: ({ waiting }) => waiting },
    { key: 'pools', header: 'Pools', level: 'brief', value: ({ pools }) => [...pools] },
    { key: 'condition', header: 'Condition', level: 'brief', value: worst, cell: cause },
  ],
  { whole: ['label'], spare: ['hold', 'pools', 'building'] },
);

/** Sources of the supply. */
export interface SupplyRecords {
  readonly pools: Iterable<PoolComponentRecord>;
  /** A node counts for each of its labels. */
  readonly nodes: Iterable<{ readonly node: NodeRecord; readonly locked: boolean }>;
  readonly requests: Iterable<RequestRecord>;
  /** Active conditions, most severe first. */
  readonly conditions: readonly SharedCondition[];
}

function worst({ conditions: [first] }: LabelSupply): string | null {
  if (!first) return null;
  return first.kind === 'label' ? first.message : `${first.kind} ${first.name}: ${first.message}`;
}

/** Conditions whose reason says more than their type. */
const BY_REASON: ReadonlySet<string> = new Set(['NotServed', 'LabelUnusable']);

/** The cause in one word before its text, as a narrow table truncates the text. */
function cause(supply: LabelSupply): string | null {
  const condition = foldConditions(supply.conditions)[0]?.condition;
  if (!condition) return null;
  const { type, reason } = condition;
  return `${BY_REASON.has(type) ? reason : type}: ${worst({ ...supply, conditions: [condition] }) ?? ''}`;
}

const WAITING: ReadonlySet<string> = new Set(['requested', 'pending']);
const BUILDING: ReadonlySet<string> = new Set(['init', 'building', 'testing']);

type Counts = { -readonly [Key in keyof LabelSupply]: LabelSupply[Key] } & {
  pools: string[];
  readonly providers: Set<string>;
  conditions: SharedCondition[];
};
type Counter = 'ready' | 'building' | 'inUse' | 'held';

function counterOf(node: NodeRecord, locked: boolean): Counter | undefined {
  if (node.state === 'hold') return isLent(node) ? 'inUse' : 'held';
  if (BUILDING.has(node.state)) return 'building';
  if (node.state === 'in-use') return 'inUse';
  if (node.state !== 'ready') return undefined;
  return node.allocatedTo === null && !locked ? 'ready' : 'inUse';
}

/** Supply of every label with a registered pool, a node, a waiting request or a condition, sorted by name. */
export function supplyOfLabels({ pools, nodes, requests, conditions }: SupplyRecords): LabelSupply[] {
  const found = new Map<string, Counts>();
  const countsOf = (label: string): Counts => {
    const known = found.get(label);
    if (known) return known;
    const none = { ready: 0, building: 0, inUse: 0, held: 0, waiting: 0 };
    const counts = { label, pools: [], providers: new Set<string>(), ...none, conditions: [] };
    found.set(label, counts);
    return counts;
  };
  for (const { supportedLabels, providerName, name } of pools) {
    const pool = `${providerName}/${name}`;
    for (const label of supportedLabels) {
      const { pools: offering, providers } = countsOf(label);
      if (!offering.includes(pool)) offering.push(pool);
      providers.add(providerName);
    }
  }
  const labelsOfNodes = new Map<string, readonly string[]>();
  for (const { node, locked } of nodes) {
    labelsOfNodes.set(node.id, node.labels);
    const counter = counterOf(node, locked);
    if (counter) for (const label of node.labels) countsOf(label)[counter] += 1;
  }
  for (const { state, labels } of requests) {
    if (WAITING.has(state)) for (const label of new Set(labels)) countsOf(label).waiting += 1;
  }
  for (const condition of conditions) {
    const { kind, name, evidence } = condition;
    if (kind === 'label') countsOf(String(evidence['label'] ?? name)).conditions.push(condition);
    if (kind === 'node') for (const label of labelsOfNodes.get(name) ?? []) countsOf(label).conditions.push(condition);
  }
  addProviderErrors(found.values(), conditions);
  for (const { pools: offering } of found.values()) offering.sort();
  return [...found.values()]
    .map(({ providers: _, ...supply }) => supply)
    .sort((a, b) => (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
}

/** A label that also has a provider without an error is served there. */
function addProviderErrors(labels: Iterable<Counts>, conditions: readonly SharedCondition[]): void {
  const errors = conditions.filter(({ kind, severity }) => kind === 'provider' && severity === 'error');
  const failing = new Set(errors.map(({ name }) => name));
  for (const { providers, conditions: ofLabel } of labels) {
    if (![...providers].every((name) => failing.has(name))) continue;
    ofLabel.push(...errors.filter(({ name }) => providers.has(name)));
  }
}
