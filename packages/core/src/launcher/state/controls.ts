import { isInForce, type CancelTimer, type Clock, type ControlCache, type ControlRecord } from '@nodepool/zk-protocol';

/** Timers cannot wait for longer; a control that ends later is looked at again. */
const LONGEST_WAIT_MS = 2 ** 30;

/** The orders of operators that are in force, kept by a watch; those with an end cease to be at that moment. */
export class ControlMirror {
  readonly #cache: ControlCache;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  #inForce: readonly ControlRecord[] = [];
  #cancelEnd: CancelTimer | undefined;

  constructor(cache: ControlCache, clock: Clock) {
    this.#cache = cache;
    this.#clock = clock;
    this.#unsubscribe = cache.onChange(() => this.#refresh());
  }

  /** In the order in which they were given. The same list as long as nothing changes. */
  get inForce(): readonly ControlRecord[] {
    return this.#inForce;
  }

  /** Also those that have ended. */
  get stored(): Iterable<ControlRecord> {
    return this.#cache.values();
  }

  /** An order that limits a label or an image is in force: nodes of any pool count. */
  get limitsLabels(): boolean {
    return this.#inForce.some(({ kind, mode }) => mode === 'limit' && (kind === 'label' || kind === 'image'));
  }

  /** Called after an order came into force, changed or ended. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#unsubscribe();
    this.#cancelEnd?.();
    this.#listeners.clear();
  }

  #refresh(): void {
    const nowMs = this.#clock.now();
    const inForce = [...this.#cache.values()].filter((control) => isInForce(control, nowMs));
    this.#inForce = inForce.sort((a, b) => a.createdTimeMs - b.createdTimeMs);
    this.#cancelEnd?.();
    const endMs = Math.min(...inForce.map(({ endTimeMs }) => endTimeMs ?? Infinity));
    const waitMs = Math.min(endMs - nowMs, LONGEST_WAIT_MS);
    this.#cancelEnd = endMs === Infinity ? undefined : this.#clock.setTimer(waitMs, () => this.#refresh());
    for (const listener of this.#listeners) listener();
  }
}
