import type { Clock } from '@nodepool/zk-protocol';

/** A clock that moves only when told to. */
export class VirtualClock implements Clock {
  #nowMs = 1_000_000;
  readonly #timers = new Set<{ atMs: number; fn: () => void }>();

  get pendingTimers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#nowMs;
  }

  setTimer(ms: number, fn: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, fn };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves on, firing what is due in its order and letting everything run in between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await settle();
      const [next] = [...this.#timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
      if (!next) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fn();
    }
    this.#nowMs = endMs;
  }
}

/** Lets everything run that is ready to. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Numbers in [0, 1), the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
