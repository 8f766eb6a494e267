import { steadyNow, type Clock } from '@nodepool/zk-protocol';

/** How long a zone without capacity is skipped. */
const MEMORY_MS = 60_000;

/** Tracks recent capacity errors by zone and flavor. */
export class CapacityMemory {
  readonly #clock: Clock;
  readonly #full = new Map<string, { readonly untilMs: number; readonly why: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a capacity error. @param zone - `null`: the cloud chose the zone @param why - in the words of the cloud */
  noteFull(zone: string | null, flavorId: string, why: string): void {
    const now = steadyNow(this.#clock);
    for (const [key, { untilMs }] of this.#full) if (untilMs <= now) this.#full.delete(key);
    this.#full.set(keyOf(zone, flavorId), { untilMs: now + MEMORY_MS, why });
  }

  /** Records a success. */
  noteRoom(zone: string | null, flavorId: string): void {
    this.#full.delete(keyOf(zone, flavorId));
  }

  /** Whether there was a recent capacity error. */
  isFull(zone: string | null, flavorId: string): boolean {
    return this.whyFull(zone, flavorId) !== undefined;
  }

  /** The recent capacity error; `undefined`: there was none. */
  whyFull(zone: string | null, flavorId: string): string | undefined {
    const found = this.#full.get(keyOf(zone, flavorId));
    return found && found.untilMs > steadyNow(this.#clock) ? found.why : undefined;
  }
}

function keyOf(zone: string | null, flavorId: string): string {
  return JSON.stringify([zone, flavorId]);
}
