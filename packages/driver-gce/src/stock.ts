import type { Clock } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';

/** Zone and machine type of an instance. */
export interface Placement {
  readonly zone: string;
  readonly machineType: string;
  /** Spot VMs have a separate stock. */
  readonly spot: boolean;
}

interface Shortage {
  readonly pauseMs: number;
  /** When to probe again. Steady time. */
  readonly probeAtMs: number;
  /** A probe is running. */
  readonly probing: boolean;
}

const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Tracks exhausted placements for all launches of a provider. Launches skip them; after a pause one launch probes, and
 * the pause doubles if the placement is still exhausted.
 */
export class Stock {
  readonly #clock: Clock;
  readonly #shortages = new Map<string, Shortage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether to launch here now. For an exhausted placement, `true` is the one probe of this pause. */
  take(placement: Placement): boolean {
    const key = keyOf(placement);
    const shortage = this.#shortages.get(key);
    if (!shortage) return true;
    const nowMs = steadyNow(this.#clock);
    if (nowMs < shortage.probeAtMs) return false;
    this.#shortages.set(key, { ...shortage, probeAtMs: nowMs + shortage.pauseMs, probing: true });
    return true;
  }

  /** Records a stock-out. Further stock-outs of concurrent launches do not count. */
  exhausted(placement: Placement): void {
    const key = keyOf(placement);
    const known = this.#shortages.get(key);
    if (known && !known.probing) return;
    const pauseMs = known ? Math.min(LONGEST_PAUSE_MS, known.pauseMs * 2) : FIRST_PAUSE_MS;
    this.#shortages.set(key, { pauseMs, probeAtMs: steadyNow(this.#clock) + pauseMs, probing: false });
  }

  /** Records a success. */
  served(placement: Placement): void {
    this.#shortages.delete(keyOf(placement));
  }

  /** Seconds until the next probe of one of these. */
  secondsUntilProbe(placements: readonly Placement[]): number {
    const times = placements.map((placement) => this.#shortages.get(keyOf(placement))?.probeAtMs ?? -Infinity);
    return Math.max(0, Math.ceil((Math.min(...times) - steadyNow(this.#clock)) / 1_000));
  }
}

function keyOf({ zone, machineType, spot }: Placement): string {
  return `${zone}/${machineType}${spot ? '/spot' : ''}`;
}
