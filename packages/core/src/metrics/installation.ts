import type { NodeRecord, PoolComponentRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import { NodeCounts } from './node-counts.js';
import { RequestCounts } from './request-counts.js';

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

  /** Labels that are offered or that a node has. */
  labels(): Set<string> {
    return new Set([...this.pools().flatMap(({ labels }) => [...labels]), ...this.nodes.labels.names()]);
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
