import type { NodeRecord, RecordCache } from '@nodepool/zk-protocol';

/** Node records by provider. */
export class NodesByProvider {
  readonly #nodes: RecordCache<NodeRecord>;
  readonly #ids = new Map<string, Set<string>>();
  readonly #unsubscribe: () => void;

  /** @param emptied - the last node of the provider is gone */
  constructor(nodes: RecordCache<NodeRecord>, emptied: (provider: string) => void) {
    this.#nodes = nodes;
    this.#unsubscribe = nodes.onChange(({ id, before, after }) => {
      if (before?.provider === after?.provider) return;
      if (after?.provider) this.#idsOf(after.provider).add(id);
      if (!before?.provider) return;
      const ids = this.#idsOf(before.provider);
      if (ids.delete(id) && ids.size === 0) emptied(before.provider);
    });
  }

  *of(provider: string): Generator<NodeRecord> {
    for (const id of this.#ids.get(provider) ?? []) {
      const node = this.#nodes.get(id);
      if (node) yield node;
    }
  }

  close(): void {
    this.#unsubscribe();
  }

  #idsOf(provider: string): Set<string> {
    let ids = this.#ids.get(provider);
    if (!ids) this.#ids.set(provider, (ids = new Set()));
    return ids;
  }
}
