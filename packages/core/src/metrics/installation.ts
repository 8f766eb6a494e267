import type { NodeRecord, PoolComponentRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import { REQUEST_STATES } from '@nodepool/zk-protocol';
import { BoundedNames } from './bounded-names.js';
import { NodeCounts } from './node-counts.js';

/** Labels that nodes have and no pool offers. */
const MOST_UNOFFERED = 1_000;

/** A pool name with the labels that all launchers offer under it. */
export interface OfferedPool {
  readonly provider: string;
  readonly pool: string;
  readonly labels: ReadonlySet<string>;
}

/** Nodes, requests and registered pools of the whole installation. */
export class Installation {
  readonly nodes = new NodeCounts();
  readonly requests = new RequestCounts();
  readonly #unoffered = new BoundedNames(MOST_UNOFFERED);
  readonly #registered: () => readonly PoolComponentRecord[];
  #offered: readonly OfferedPool[] | undefined;

  constructor(registered: () => readonly PoolComponentRecord[]) {
    this.#registered = registered;
  }

  nodeChanged(change: RecordChange<NodeRecord>): boolean {
    return this.nodes.change(change);
  }

  requestChanged(change: RecordChange<RequestRecord>): boolean {
    return this.requests.change(change);
  }

  poolsChanged(): void {
    this.#offered = undefined;
  }

  /** The registered pools, each name once. */
  pools(): readonly OfferedPool[] {
    this.#offered ??= merge(this.#registered());
    return this.#offered;
  }

  /** Labels that are offered or that a node has; of those that only nodes have, the first ones. */
  labels(): Set<string> {
    const shown = new Set(this.pools().flatMap(({ labels }) => [...labels]));
    for (const label of this.nodes.labels.names()) {
      if (!shown.has(label) && this.#unoffered.admits(label)) shown.add(label);
    }
    return shown;
  }

  /** Providers that are registered or have a node. */
  providers(): Set<string> {
    return new Set([...this.pools().map(({ provider }) => provider), ...this.nodes.providers.names()]);
  }
}

function merge(registered: readonly PoolComponentRecord[]): OfferedPool[] {
  const pools = new Map<string, { provider: string; pool: string; labels: Set<string> }>();
  for (const { providerName: provider, name: pool, supportedLabels, legacy } of registered) {
    // entries of older launchers have no pool name
    if (legacy && pool === '') continue;
    const key = `${provider}\0${pool}`;
    let known = pools.get(key);
    if (!known) pools.set(key, (known = { provider, pool, labels: new Set() }));
    for (const label of supportedLabels) known.labels.add(label);
  }
  return [...pools.values()];
}

interface LabelSet {
  readonly labels: readonly string[];
  requests: number;
}

/** Number of requests by state and by requested set of labels, updated incrementally. */
export class RequestCounts {
  /** Starts with all known states, so that metrics report 0 for them. */
  readonly #states = new Map<string, number>(REQUEST_STATES.map((state) => [state, 0]));
  readonly #labelSets = new Map<string, LabelSet>();

  /** @returns whether any number changed */
  change({ before, after }: Pick<RecordChange<RequestRecord>, 'before' | 'after'>): boolean {
    if (before?.state === after?.state && before?.labels === after?.labels) return false;
    if (before) this.#count(before, -1);
    if (after) this.#count(after, 1);
    return true;
  }

  byState(): Iterable<[state: string, requests: number]> {
    return this.#states;
  }

  /** Counts requests, in any state, whose labels are all offered. Linear in the number of distinct label sets. */
  addressable(offered: ReadonlySet<string>): number {
    let sum = 0;
    for (const { labels, requests } of this.#labelSets.values()) {
      if (labels.every((label) => offered.has(label))) sum += requests;
    }
    return sum;
  }

  #count(request: RequestRecord, step: 1 | -1): void {
    this.#states.set(request.state, (this.#states.get(request.state) ?? 0) + step);
    const labels = request.labels.length === 1 ? request.labels : [...new Set(request.labels)].sort();
    const key = labels.join('\0');
    const known = this.#labelSets.get(key);
    if (!known) {
      this.#labelSets.set(key, { labels, requests: step });
      return;
    }
    known.requests += step;
    if (known.requests === 0) this.#labelSets.delete(key);
  }
}
