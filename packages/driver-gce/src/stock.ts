import type { Clock } from '@nodepool/core';

/** Where an instance is made, and of what. */
export interface Placement {
  readonly zone: string;
  readonly machineType: string;
  /** Spot VMs are a stock of their own. */
  readonly spot: boolean;
}

interface Shortage {
  readonly pauseMs: number;
  /** When it may be tried again. */
  readonly probeAtMs: number;
  /** It is being tried. */
  readonly probing: boolean;
}

const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Remembers where the cloud is out of stock, for all launches of a provider. No launch waits there: when a pause is
 * over one launch tries, and the pause doubles if that is told the same.
 */
export class Stock {
  readonly #clock: Clock;
  readonly #shortages = new Map<string, Shortage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether to order here now. A yes where stock was out is the one probe; others get a no for another pause. */
  take(placement: Placement): boolean {
    const key = keyOf(placement);
    const shortage = this.#shortages.get(key);
    if (!shortage) return true;
    const nowMs = this.#clock.now();
    if (nowMs < shortage.probeAtMs) return false;
    this.#shortages.set(key, { ...shortage, probeAtMs: nowMs + shortage.pauseMs, probing: true });
    return true;
  }

  /** The cloud had none. Of orders placed before that was known only the first one counts. */
  exhausted(placement: Placement): void {
    const key = keyOf(placement);
    const known = this.#shortages.get(key);
    if (known && !known.probing) return;
    const pauseMs = known ? Math.min(LONGEST_PAUSE_MS, known.pauseMs * 2) : FIRST_PAUSE_MS;
    this.#shortages.set(key, { pauseMs, probeAtMs: this.#clock.now() + pauseMs, probing: false });
  }

  /** The cloud had one. */
  served(placement: Placement): void {
    this.#shortages.delete(keyOf(placement));
  }

  /** Seconds until one of these may be tried again. */
  secondsUntilProbe(placements: readonly Placement[]): number {
    const times = placements.map((placement) => this.#shortages.get(keyOf(placement))?.probeAtMs ?? 0);
    return Math.max(0, Math.ceil((Math.min(...times) - this.#clock.now()) / 1_000));
  }
}

function keyOf({ zone, machineType, spot }: Placement): string {
  return `${zone}/${machineType}${spot ? '/spot' : ''}`;
}
