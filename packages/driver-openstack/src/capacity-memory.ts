import type { Clock } from '@nodepool/zk-protocol';

/** A zone that had no room is left out this long. */
const MEMORY_MS = 60_000;

/** Remembers for a while where the cloud had no room: by zone and flavor. */
export class CapacityMemory {
  readonly #clock: Clock;
  readonly #untilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** There was no room. @param zone - `null`: the cloud had the choice */
  noteFull(zone: string | null, flavorId: string): void {
    const now = this.#clock.now();
    for (const [key, untilMs] of this.#untilMs) if (untilMs <= now) this.#untilMs.delete(key);
    this.#untilMs.set(keyOf(zone, flavorId), now + MEMORY_MS);
  }

  /** A server was made: there is room. */
  noteRoom(zone: string | null, flavorId: string): void {
    this.#untilMs.delete(keyOf(zone, flavorId));
  }

  /** There was no room a short while ago. */
  isFull(zone: string | null, flavorId: string): boolean {
    return (this.#untilMs.get(keyOf(zone, flavorId)) ?? -Infinity) > this.#clock.now();
  }
}

function keyOf(zone: string | null, flavorId: string): string {
  return JSON.stringify([zone, flavorId]);
}
