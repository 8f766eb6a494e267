import type { Resources } from '@nodepool/core';
import type { ApiQuota } from './api.js';
import type { MachineSize } from './catalog.js';

/** Usage of one instance. */
export interface Usage {
  readonly machineType: string;
  readonly size: MachineSize | undefined;
  readonly spot: boolean;
  readonly externalIp: boolean;
}

/** Quotas with a name of their own in Nodepool. */
const RENAMED: Readonly<Record<string, string>> = { INSTANCES: 'instances', CPUS_ALL_REGIONS: 'cores' };
/**
 * These families share one quota. https://cloud.google.com/compute/resource-usage#cpu_quota
 * Custom types of N1 are called `custom-4-8192`; those of other families have the family in front.
 */
const SHARED_FAMILIES = ['e2', 'n1', 'f1', 'g1', 'custom'];

/**
 * The quotas of a provider. Resources of nodes include the names of Google's quotas, such as `N2_CPUS`, besides
 * `instances`, `cores` and `ram`, so that a launch waits only for the exhausted quota.
 */
export class Quotas {
  #known = new Map<string, ApiQuota>();

  /** Stores the quotas of the region and the project. */
  learn(quotas: readonly ApiQuota[]): void {
    this.#known = new Map(quotas.map((quota) => [quota.metric, quota]));
  }

  /** Resources of an instance, without its disks. */
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

  /** Resources of a disk. https://cloud.google.com/compute/resource-usage#disk_quota */
  resourcesOfDisk(type: string, gib: number): Resources {
    const metric = type === 'pd-standard' ? 'DISKS_TOTAL_GB' : 'SSD_TOTAL_GB';
    return type.startsWith('pd-') && this.#known.has(metric) ? { [metric]: gib } : {};
  }

  /** Limits minus usage of others. @param own - usage of this provider */
  limits(own: Resources): Resources {
    return Object.fromEntries(
      Array.from(this.#known.values(), ({ metric, limit, usage }) => {
        const name = RENAMED[metric] ?? metric;
        return [name, Math.max(0, limit - Math.max(0, usage - (own[name] ?? 0)))];
      }),
    );
  }

  #cpuMetric(machineType: string, spot: boolean): string | undefined {
    // Without their own quota, Spot VMs count like other instances.
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
