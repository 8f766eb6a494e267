import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';

/** A free node, with its rank in the order in which nodes became free. */
interface Entry {
  node: NodeRecord;
  readonly rank: number;
}

/** Free nodes with the same labels, in the order in which they became free. */
interface LabelSet {
  readonly labels: readonly string[];
  readonly entries: Map<NodeId, Entry>;
}

/** The free nodes of one pool. There may be many nodes, but only few sets of labels. */
export class FreeNodes {
  readonly #sets = new Map<string, LabelSet>();
  readonly #byLabel = new Map<string, Set<LabelSet>>();
  readonly #all = new Map<NodeId, LabelSet>();
  #nextRank = 0;

  get size(): number {
    return this.#all.size;
  }

  has(id: NodeId): boolean {
    return this.#all.has(id);
  }

  count(label: string): number {
    let count = 0;
    for (const { entries } of this.#byLabel.get(label) ?? []) count += entries.size;
    return count;
  }

  /**
   * The nodes of a label: first those whose other labels are requested least, then those with the fewest other labels, then
   * those that became free first.
   * @param asked - number of requests that wait for a label
   */
  *ofLabel(label: string, asked: (label: string) => number): Generator<NodeRecord> {
    const sets = [...(this.#byLabel.get(label) ?? [])];
    if (sets.length < 2) {
      yield* byRank(sets);
      return;
    }
    const rest = sets.map((set) => ({ set, asked: askedBeside(set, label, asked) })).sort(compareSets);
    while (rest[0]) {
      const [first] = rest;
      const equal = rest.filter((each) => compareSets(each, first) === 0);
      yield* byRank(equal.map(({ set }) => set));
      rest.splice(0, equal.length);
    }
  }

  /** All nodes, in the order in which they became free. */
  all(): Iterable<NodeRecord> {
    return byRank([...this.#sets.values()]);
  }

  /**
   * Adds a node or refreshes its record, keeping its place unless its labels changed.
   * @returns whether the node is new, or has other labels than before
   */
  put(node: NodeRecord): boolean {
    const before = this.#all.get(node.id);
    const known = before?.entries.get(node.id);
    if (before && known && sameLabels(before.labels, node.labels)) {
      known.node = node;
      return false;
    }
    this.delete(node.id);
    const set = this.#setOf(node.labels);
    set.entries.set(node.id, { node, rank: this.#nextRank++ });
    this.#all.set(node.id, set);
    return true;
  }

  delete(id: NodeId): boolean {
    const set = this.#all.get(id);
    if (!set) return false;
    this.#all.delete(id);
    set.entries.delete(id);
    if (set.entries.size === 0) this.#forget(set);
    return true;
  }

  #setOf(labels: readonly string[]): LabelSet {
    const key = JSON.stringify(labels);
    let set = this.#sets.get(key);
    if (set) return set;
    set = { labels, entries: new Map() };
    this.#sets.set(key, set);
    for (const label of labels) {
      const sets = this.#byLabel.get(label);
      if (sets) sets.add(set);
      else this.#byLabel.set(label, new Set([set]));
    }
    return set;
  }

  #forget(set: LabelSet): void {
    this.#sets.delete(JSON.stringify(set.labels));
    for (const label of set.labels) {
      const sets = this.#byLabel.get(label);
      sets?.delete(set);
      if (sets?.size === 0) this.#byLabel.delete(label);
    }
  }
}

interface RatedSet {
  readonly set: LabelSet;
  /** Number of requests that wait for the other labels of its nodes. */
  readonly asked: number;
}

function compareSets(a: RatedSet, b: RatedSet): number {
  return a.asked - b.asked || a.set.labels.length - b.set.labels.length;
}

function askedBeside({ labels }: LabelSet, label: string, asked: (label: string) => number): number {
  let sum = 0;
  for (const other of labels) if (other !== label) sum += asked(other);
  return sum;
}

/** Merges sets into the order in which their nodes became free. */
function* byRank(sets: readonly LabelSet[]): Generator<NodeRecord> {
  const queues = sets.map(({ entries }) => {
    const source = entries.values();
    return { source, head: source.next() };
  });
  for (;;) {
    let first: (typeof queues)[number] | undefined;
    for (const queue of queues) {
      if (queue.head.done !== true && (first === undefined || rankOf(queue.head) < rankOf(first.head))) first = queue;
    }
    if (first === undefined || first.head.done === true) return;
    yield first.head.value.node;
    first.head = first.source.next();
  }
}

function rankOf(head: IteratorResult<Entry>): number {
  return head.done === true ? Infinity : head.value.rank;
}

function sameLabels(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((label, index) => label === b[index]));
}
