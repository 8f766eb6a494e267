import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

interface Entry<T> {
  readonly atMs: number;
  /** Keeps entries of the same time in insertion order. */
  readonly order: number;
  readonly item: T;
}

/** Many timers on one timer of the clock: adding and firing cost O(log n). */
export class TimerHeap<T> {
  readonly #clock: Clock;
  readonly #fire: (item: T) => void;
  readonly #heap: Entry<T>[] = [];
  #order = 0;
  #armedFor = Infinity;
  #cancel: CancelTimer | undefined;

  /** @param fire - called with each item when it is due; it must not throw */
  constructor(clock: Clock, fire: (item: T) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** Number of pending entries. */
  get size(): number {
    return this.#heap.length;
  }

  /** Fires an item at a time in milliseconds since the epoch; as soon as possible if it has passed. */
  add(atMs: number, item: T): void {
    const heap = this.#heap;
    let index = heap.push({ atMs, order: this.#order++, item }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfEarlier(index, parent)) break;
      index = parent;
    }
    this.#arm();
  }

  /** Removes all entries. */
  clear(): void {
    this.#heap.length = 0;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#armedFor = Infinity;
  }

  #arm(): void {
    const next = this.#heap[0]?.atMs ?? Infinity;
    if (next >= this.#armedFor) return;
    this.#cancel?.();
    this.#armedFor = next;
    this.#cancel = this.#clock.setTimer(Math.max(0, next - this.#clock.now()), () => this.#run());
  }

  #run(): void {
    this.#armedFor = Infinity;
    this.#cancel = undefined;
    const now = this.#clock.now();
    for (let first = this.#heap[0]; first && first.atMs <= now; first = this.#heap[0]) {
      this.#removeFirst();
      this.#fire(first.item);
    }
    this.#arm();
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ;) {
      const left = 2 * index + 1;
      const child = this.#isEarlier(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfEarlier(child, index)) return;
      index = child;
    }
  }

  #swapIfEarlier(index: number, than: number): boolean {
    if (!this.#isEarlier(index, than)) return false;
    const heap = this.#heap;
    const [a, b] = [heap[index], heap[than]];
    if (a && b) [heap[index], heap[than]] = [b, a];
    return true;
  }

  #isEarlier(index: number, than: number): boolean {
    const [a, b] = [this.#heap[index], this.#heap[than]];
    if (!a || !b) return false;
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
  }
}
