import type { NodeRecord } from '@nodepool/zk-protocol';

/** Where nodes are made, and of which label. */
export interface LabelPlace {
  readonly provider: string;
  readonly pool: string;
  readonly label: string;
}

/** How many nodes of a label there are in one place. */
export interface LabelCount extends LabelPlace {
  nodes: number;
}

/** How many nodes there are of each label in each pool, whatever their state, and how many are about to be made. */
export class LabelUse {
  readonly #counts = new Map<string, LabelCount>();
  readonly #capacityListeners = new Set<() => void>();

  change(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (before && after && isSamePlace(before, after)) return;
    if (after) this.#count(after, 1);
    if (!before) return;
    this.#count(before, -1);
    this.#tellCapacity();
  }

  /** A launch is decided on. @returns to be called when its node has a record, or will have none */
  promise(place: LabelPlace): () => void {
    this.#add(place, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#add(place, -1);
      this.#tellCapacity();
    };
  }

  /** Nodes in all places that are asked for; one of several labels counts for each of them. */
  countNodes(isCounted: (place: LabelPlace) => boolean): number {
    let total = 0;
    for (const count of this.#counts.values()) if (isCounted(count)) total += count.nodes;
    return total;
  }

  /** How many nodes of each label the pools of a provider have, those about to be made included. */
  *ofProvider(provider: string): Generator<Readonly<LabelCount>> {
    for (const count of this.#counts.values()) if (count.provider === provider) yield count;
  }

  /** Tells when a node is gone or changed its place, or a launch needs no promise any more. @returns ends it */
  onCapacity(listener: () => void): () => void {
    this.#capacityListeners.add(listener);
    return () => this.#capacityListeners.delete(listener);
  }

  #tellCapacity(): void {
    for (const listener of this.#capacityListeners) listener();
  }

  #count({ provider, pool, labels }: NodeRecord, step: 1 | -1): void {
    if (provider === null || pool === null) return;
    for (const label of labels) this.#add({ provider, pool, label }, step);
  }

  #add(place: LabelPlace, step: 1 | -1): void {
    const key = `${place.provider}\0${place.pool}\0${place.label}`;
    const known = this.#counts.get(key);
    if (!known) this.#counts.set(key, { ...place, nodes: step });
    else if ((known.nodes += step) === 0) this.#counts.delete(key);
  }
}

function isSamePlace(a: NodeRecord, b: NodeRecord): boolean {
  if (a.provider !== b.provider || a.pool !== b.pool) return false;
  return a.labels === b.labels || (a.labels.length === b.labels.length && a.labels.every((l, i) => l === b.labels[i]));
}
