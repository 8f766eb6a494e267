import type { StaticProviderConfig } from './config.js';
import { canPlace } from './placement.js';

/** How much of which labels the pools of a provider have, if every configured host is registered and free. */
export class PoolCapacities {
  readonly #config: StaticProviderConfig;
  /** Configured slots by pool and label. */
  readonly #slots = new Map<string, Map<string, number>>();
  /** Whether a pool can hold labels; asked again and again for the same few combinations. */
  readonly #placements = new Map<string, boolean>();

  constructor(config: StaticProviderConfig) {
    this.#config = config;
    for (const pool of config.pools.values()) {
      const slots = new Map<string, number>();
      this.#slots.set(pool.name, slots);
      for (const host of pool.hosts) {
        for (const label of host.labels) slots.set(label, (slots.get(label) ?? 0) + host.maxParallelJobs);
      }
    }
  }

  /** Slots of a label in a pool. */
  slotsOf(poolName: string, label: string): number {
    return this.#slots.get(poolName)?.get(label) ?? 0;
  }

  /** Whether the pool has a slot for each of the labels at once, as far as several labels are concerned. */
  canHold(poolName: string, labels: readonly string[]): boolean {
    const first = labels[0];
    // Enough of one label is what `slotsOf` tells.
    if (labels.every((label) => label === first)) return true;
    const key = [poolName, ...[...labels].sort()].join('\0');
    let answer = this.#placements.get(key);
    if (answer === undefined) {
      answer = canPlace(this.#config.pools.get(poolName)?.hosts ?? [], labels);
      this.#placements.set(key, answer);
    }
    return answer;
  }
}
