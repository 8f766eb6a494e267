import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

/**
 * When to look. At the first one the records of what the launcher was making are gone; the last one is for when a sweep has
 * looked just before the first, which is left out then.
 */
const LOOKS_MS = [1_000, 6_500, 12_000];

/**
 * A launcher that is killed while the cloud makes an instance leaves one whose id is stored nowhere, and which holds
 * quota until it was found leaked twice. So these looks begin when the launcher's pools vanish, and not with the next
 * sweep.
 */
export class OrphanLooks {
  readonly #clock: Clock;
  readonly #timers = new Map<string, CancelTimer[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A pool of this provider has left the registry. Looks that are due already are put off. @param look - never rejects */
  poolLeft(provider: string, look: () => Promise<void>): void {
    for (const cancel of this.#timers.get(provider) ?? []) cancel();
    this.#timers.set(
      provider,
      LOOKS_MS.map((ms) => this.#clock.setTimer(ms, () => void look())),
    );
  }

  stop(): void {
    for (const cancels of this.#timers.values()) for (const cancel of cancels) cancel();
    this.#timers.clear();
  }
}
