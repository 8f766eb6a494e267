import { isKnownNodeState, NODE_STATES, type NodeRecord, type RecordChange } from '@nodepool/zk-protocol';

/** Number of nodes of a group in each state. States that never occurred are missing. */
export class StateCounts {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(state: string, step: 1 | -1): void {
    this.#counts.set(state, (this.#counts.get(state) ?? 0) + step);
    this.#total += step;
  }

  of(state: string): number {
    return this.#counts.get(state) ?? 0;
  }

  /** The known states, including those with 0 nodes, and unknown states that have occurred. */
  *states(): Generator<string> {
    yield* NODE_STATES;
    for (const state of this.#counts.keys()) if (!isKnownNodeState(state)) yield state;
  }
}

const NO_NODES = new StateCounts();

/** Groups by name. A group without nodes is removed. */
class Groups {
  readonly #groups = new Map<string, StateCounts>();

  add(name: string, state: string, step: 1 | -1): void {
    let group = this.#groups.get(name);
    if (!group) this.#groups.set(name, (group = new StateCounts()));
    group.add(state, step);
    if (group.total === 0) this.#groups.delete(name);
  }

  of(name: string): StateCounts {
    return this.#groups.get(name) ?? NO_NODES;
  }

  names(): IterableIterator<string> {
    return this.#groups.keys();
  }
}

/** Number of nodes by state, label and provider, updated incrementally. */
export class NodeCounts {
  readonly all = new StateCounts();
  readonly labels = new Groups();
  readonly providers = new Groups();

  /** @returns whether any number changed */
  change({ before, after }: Pick<RecordChange<NodeRecord>, 'before' | 'after'>): boolean {
    if (before && after && countsAlike(before, after)) return false;
    if (before) this.#count(before, -1);
    if (after) this.#count(after, 1);
    return true;
  }

  #count({ state, labels, provider }: NodeRecord, step: 1 | -1): void {
    this.all.add(state, step);
    for (const label of labels) this.labels.add(label, state, step);
    if (provider !== null) this.providers.add(provider, state, step);
  }
}

function countsAlike(a: NodeRecord, b: NodeRecord): boolean {
  if (a.state !== b.state || a.provider !== b.provider) return false;
  return a.labels === b.labels || (a.labels.length === b.labels.length && a.labels.every((l, i) => l === b.labels[i]));
}
