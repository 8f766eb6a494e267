import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';

/** The free ready nodes of one pool by label. Iteration starts with the node that became free first. */
export class FreeNodes {
  readonly #byLabel = new Map<string, Map<NodeId, NodeRecord>>();
  readonly #all = new Map<NodeId, NodeRecord>();

  get size(): number {
    return this.#all.size;
  }

  has(id: NodeId): boolean {
    return this.#all.has(id);
  }

  count(label: string): number {
    return this.#byLabel.get(label)?.size ?? 0;
  }

  ofLabel(label: string): Iterable<NodeRecord> {
    return this.#byLabel.get(label)?.values() ?? [];
  }

  all(): Iterable<NodeRecord> {
    return this.#all.values();
  }

  /**
   * Adds a node or refreshes its record, keeping its place unless its labels changed.
   * @returns true when it is free for something it was not free for before
   */
  put(node: NodeRecord): boolean {
    const before = this.#all.get(node.id);
    const isNew = !before || !sameLabels(before, node);
    if (before && isNew) this.delete(node.id);
    this.#all.set(node.id, node);
    for (const label of node.labels) {
      let nodes = this.#byLabel.get(label);
      if (!nodes) this.#byLabel.set(label, (nodes = new Map<NodeId, NodeRecord>()));
      nodes.set(node.id, node);
    }
    return isNew;
  }

  delete(id: NodeId): boolean {
    const node = this.#all.get(id);
    if (!node) return false;
    this.#all.delete(id);
    for (const label of node.labels) {
      const nodes = this.#byLabel.get(label);
      nodes?.delete(id);
      if (nodes?.size === 0) this.#byLabel.delete(label);
    }
    return true;
  }
}

function sameLabels(a: NodeRecord, b: NodeRecord): boolean {
  return a.labels === b.labels || (a.labels.length === b.labels.length && a.labels.every((l, i) => l === b.labels[i]));
}
