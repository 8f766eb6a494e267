/** Demand is counted by quarters of an hour. */
export const SLOT_MS = 15 * 60_000;
/** Slots of an hour. */
export const SLOTS_AN_HOUR = 4;

/** Nodes of one label that one request asks for. */
export interface Arrival {
  readonly atMs: number;
  readonly nodes: number;
}

/** The slot of a time. */
export function slotOf(atMs: number): number {
  return Math.floor(atMs / SLOT_MS);
}

const NONE: readonly number[] = [];

/**
 * Requests for one label by slot and need. The need of a request is the number of standby nodes with which it does not wait: the
 * nodes asked for within one boot up to and including this request, as it takes one boot to replace a node.
 */
export class LabelDemand {
  readonly #needs = new Map<number, number[]>();
  /** Arrivals of the last boot, oldest first. */
  #recent: Arrival[] = [];

  /** Counts a request. @param bootMs - the usual time until a node that was taken is replaced */
  add(arrival: Arrival, bootMs: number): void {
    this.#recent = this.#recent.filter(({ atMs }) => atMs > arrival.atMs - bootMs && atMs <= arrival.atMs);
    this.#recent.push(arrival);
    const need = this.#recent.reduce((total, { nodes }) => total + nodes, 0);
    const counts = [...this.needsOf(slotOf(arrival.atMs))];
    while (counts.length < need) counts.push(0);
    counts[need - 1] = (counts[need - 1] ?? 0) + 1;
    this.#needs.set(slotOf(arrival.atMs), counts);
  }

  /** Requests of a slot: index 0 counts those that needed one standby node. */
  needsOf(slot: number): readonly number[] {
    return this.#needs.get(slot) ?? NONE;
  }

  /** The largest need in these slots, both included. */
  largestNeed(from: number, to: number): number {
    let largest = 0;
    for (let slot = from; slot <= to; slot++) largest = Math.max(largest, this.needsOf(slot).length);
    return largest;
  }

  /** The number of requests in these slots, the last one not included. */
  requestsIn(from: number, to: number): number {
    let total = 0;
    for (let slot = from; slot < to; slot++) for (const count of this.needsOf(slot)) total += count;
    return total;
  }

  /** Adds the requests of a slot that were counted before. */
  restore(slot: number, needs: readonly number[]): void {
    const known = this.needsOf(slot);
    const longer = known.length > needs.length ? known : needs;
    this.#needs.set(
      slot,
      longer.map((_, at) => (known[at] ?? 0) + (needs[at] ?? 0)),
    );
  }

  /** The first slot with a request from this one on; `undefined`: there is none. */
  firstSlot(from: number): number | undefined {
    let first: number | undefined;
    for (const slot of this.#needs.keys()) if (slot >= from && slot < (first ?? Infinity)) first = slot;
    return first;
  }

  /** Forgets the slots that were counted first, until so many are left: a clock that is ahead makes none of them too old. */
  prune(most: number): void {
    for (const slot of this.#needs.keys()) {
      if (this.#needs.size <= most) return;
      this.#needs.delete(slot);
    }
  }
}
