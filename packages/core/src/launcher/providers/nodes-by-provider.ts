import type { NodeRecord } from '@nodepool/zk-protocol';
import type { Mirror } from '../state/mirror.js';

/** Node records by provider. */
export class NodesByProvider {
  readonly #mirror: Mirror;
  readonly #ids = new Map<string, Set<string>>();
  readonly #unsubscribe: () => void;

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
    this.#unsubscribe = mirror.listen({
      onNode: ({ id, before, after }) => {
        if (before?.provider === after?.provider) return;
        if (after?.provider) this.#idsOf(after.provider).add(id);
        if (before?.provider) this.#idsOf(before.provider).delete(id);
      },
    });
  }

  *of(provider: string): Generator<NodeRecord> {
    for (const id of this.#ids.get(provider) ?? []) {
      const node = this.#mirror.nodes.get(id);
      if (node) yield node;
    }
  }

  count(provider: string): number {
    return this.#ids.get(provider)?.size ?? 0;
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
