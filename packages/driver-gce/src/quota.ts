import type { Resources } from '@nodepool/core';
import type { ApiQuota } from './api.js';
import type { MachineSize } from './catalog.js';

/** What one instance uses. */
export interface Usage {
  readonly machineType: string;
  readonly size: MachineSize | undefined;
  readonly spot: boolean;
  readonly externalIp: boolean;
}

/** Quotas of all regions together, and of the region, under the names that Nodepool has for them. */
const RENAMED: Readonly<Record<string, string>> = { INSTANCES: 'instances', CPUS_ALL_REGIONS: 'cores' };
/**
 * These families share one quota. https://cloud.google.com/compute/resource-usage#cpu_quota
 * Custom types of N1 are called `custom-4-8192`; those of other families have the family in front.
 */
const SHARED_FAMILIES = ['e2', 'n1', 'f1', 'g1', 'custom'];

/**
 * The quotas that bound what this driver makes. Resources of nodes carry the names that Google's quotas have, such as
 * `N2_CPUS`, beside `instances`, `cores` and `ram`, so that a launch waits for just what is short.
 */
export class Quotas {
  #known = new Map<string, ApiQuota>();

  /** Takes what the region and the project say. */
  learn(quotas: readonly ApiQuota[]): void {
    this.#known = new Map(quotas.map((quota) => [quota.metric, quota]));
  }

  /** What an instance counts for, without its disks. */
  resourcesOf({ machineType, size, spot, externalIp }: Usage): Resources {
    if (!size) return { instances: 1 };
    const metric = this.#cpuMetric(machineType, spot);
    return {
      instances: 1,
      cores: size.cores,
      ram: size.ramMib,
      ...(metric !== undefined && { [metric]: size.cores }),
      ...(externalIp && this.#known.has('IN_USE_ADDRESSES') && { IN_USE_ADDRESSES: 1 }),
    };
  }

  /** What a disk counts for. https://cloud.google.com/compute/resource-usage#disk_quota */
  resourcesOfDisk(type: string, gib: number): Resources {
    const metric = type === 'pd-standard' ? 'DISKS_TOTAL_GB' : 'SSD_TOTAL_GB';
    return type.startsWith('pd-') && this.#known.has(metric) ? { [metric]: gib } : {};
  }

  /** What is left for us: the limits, less what others use. @param own - what we use ourselves */
  limits(own: Resources): Resources {
    return Object.fromEntries(
      Array.from(this.#known.values(), ({ metric, limit, usage }) => {
        const name = RENAMED[metric] ?? metric;
        return [name, Math.max(0, limit - Math.max(0, usage - (own[name] ?? 0)))];
      }),
    );
  }

  #cpuMetric(machineType: string, spot: boolean): string | undefined {
    // Without a quota of their own Spot VMs count as all others do.
    if (spot && (this.#known.get('PREEMPTIBLE_CPUS')?.limit ?? 0) > 0) return 'PREEMPTIBLE_CPUS';
    const [family = ''] = machineType.split('-');
    const metric = SHARED_FAMILIES.includes(family) ? 'CPUS' : `${family.toUpperCase()}_CPUS`;
    return this.#known.has(metric) ? metric : undefined;
  }
}

/** The larger of two amounts, of each resource. */
export function largest(one: Resources, other: Resources): Resources {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(Array.from(names, (name) => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]));
}
