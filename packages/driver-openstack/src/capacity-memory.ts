import { steadyNow, type Clock } from '@nodepool/zk-protocol';
import type { ServerOrder } from './client/compute.js';

/** How long a zone without capacity is skipped. */
const MEMORY_MS = 60_000;

/** What decides whether there is capacity for a server. Small, as core stores the state that holds it. */
export interface ServerPlace {
  /** `null`: the cloud chooses the zone. */
  readonly zone: string | null;
  readonly flavorId: string;
  /** A network may be out of addresses. */
  readonly networks: ServerOrder['networks'];
}

/** Tracks recent capacity errors. */
export class CapacityMemory {
  readonly #clock: Clock;
  readonly #full = new Map<string, { readonly untilMs: number; readonly why: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a capacity error. @param why - in the words of the cloud */
  noteFull(place: ServerPlace, why: string): void {
    const now = steadyNow(this.#clock);
    for (const [key, { untilMs }] of this.#full) if (untilMs <= now) this.#full.delete(key);
    this.#full.set(keyOf(place), { untilMs: now + MEMORY_MS, why });
  }

  /** Records a success. */
  noteRoom(place: ServerPlace): void {
    this.#full.delete(keyOf(place));
  }

  /** Whether there was a recent capacity error. */
  isFull(place: ServerPlace): boolean {
    return this.whyFull(place) !== undefined;
  }

  /** The recent capacity error; `undefined`: there was none. */
  whyFull(place: ServerPlace): string | undefined {
    const found = this.#full.get(keyOf(place));
    return found && found.untilMs > steadyNow(this.#clock) ? found.why : undefined;
  }
}

function keyOf({ zone, flavorId, networks }: ServerPlace): string {
  return JSON.stringify([zone, flavorId, networks]);
}
