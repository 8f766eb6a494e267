import type { StaticProviderConfig } from './config.js';

/** Capacity of each pool by label, if every configured host is registered and free. */
export class PoolCapacities {
  readonly #config: StaticProviderConfig;
  /** Configured slots by pool and label. */
  readonly #slots = new Map<string, Map<string, number>>();
  /** Cache for the few combinations of labels that requests repeat. */
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

  /** Whether the pool has a slot for each of several different labels at the same time. */
  canHold(poolName: string, labels: readonly string[]): boolean {
    const first = labels[0];
    // A request for one label is limited by `slotsOf`.
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

/** Labels and slots of a host. */
export interface Slots {
  readonly labels: readonly string[];
  readonly maxParallelJobs: number;
}

/** Whether the hosts have a slot for each of the labels at the same time. A slot serves one label. */
export function canPlace(hosts: readonly Slots[], labels: readonly string[]): boolean {
  if (labels.length === 0) return true;
  const used = hosts.map((): string[] => []);
  return labels.every((label) => place(hosts, used, label, new Set()));
}

/** Finds a slot for a label, if necessary by moving labels to other hosts that serve them (augmenting path). */
function place(hosts: readonly Slots[], used: string[][], label: string, asked: Set<number>): boolean {
  for (const [index, host] of hosts.entries()) {
    if (!host.labels.includes(label) || asked.has(index)) continue;
    asked.add(index);
    const here = used[index] ?? [];
    if (here.length < host.maxParallelJobs) {
      here.push(label);
      return true;
    }
    const moved = here.findIndex((other) => place(hosts, used, other, asked));
    if (moved < 0) continue;
    here[moved] = label;
    return true;
  }
  return false;
}
