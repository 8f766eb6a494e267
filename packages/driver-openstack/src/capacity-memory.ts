import { steadyNow, type Clock } from '@nodepool/zk-protocol';

/** How long a zone without capacity is skipped. */
const MEMORY_MS = 60_000;

/** Tracks recent capacity errors by zone and flavor. */
export class CapacityMemory {
  readonly #clock: Clock;
  readonly #untilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a capacity error. @param zone - `null`: the cloud chose the zone */
  noteFull(zone: string | null, flavorId: string): void {
    const now = steadyNow(this.#clock);
    for (const [key, untilMs] of this.#untilMs) if (untilMs <= now) this.#untilMs.delete(key);
    this.#untilMs.set(keyOf(zone, flavorId), now + MEMORY_MS);
  }

  /** Records a success. */
  noteRoom(zone: string | null, flavorId: string): void {
    this.#untilMs.delete(keyOf(zone, flavorId));
  }

  /** Whether there was a recent capacity error. */
  isFull(zone: string | null, flavorId: string): boolean {
    return (this.#untilMs.get(keyOf(zone, flavorId)) ?? -Infinity) > steadyNow(this.#clock);
  }
}

function keyOf(zone: string | null, flavorId: string): string {
  return JSON.stringify([zone, flavorId]);
}
