import type { CloudSettings } from './settings.js';
import { CloudFailure } from './types.js';
import type { CloudInstance, Flavor } from './types.js';

/** Resources in use, hidden instances included. */
export interface CloudUsage {
  instances: number;
  cores: number;
  /** MiB. */
  ram: number;
}

const RESOURCES = ['instances', 'cores', 'ram'] as const;

/** Counts the resources of instances and enforces the quota. */
export class Ledger {
  readonly usage: CloudUsage = { instances: 0, cores: 0, ram: 0 };

  /** Adds or subtracts the resources of an instance. */
  count({ cores, ram }: Pick<CloudInstance, 'cores' | 'ram'>, sign: 1 | -1): void {
    this.usage.instances += sign;
    this.usage.cores += sign * cores;
    this.usage.ram += sign * ram;
  }

  /** @throws {CloudFailure} `quota`: an instance of this flavor does not fit */
  check({ cores, ram }: Flavor, quota: CloudSettings['quota']): void {
    const need = { instances: 1, cores, ram };
    for (const name of RESOURCES) {
      const free = Math.max(0, quota[name] - this.usage[name]);
      if (need[name] <= free) continue;
      throw new CloudFailure('quota', `quota exceeded for ${name}: ${need[name]} requested, ${free} free`);
    }
  }
}
