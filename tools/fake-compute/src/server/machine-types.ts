import type { JsonObject } from '@nodepool/zk-protocol';

/** GiB for each CPU. https://cloud.google.com/compute/docs/general-purpose-machines */
const GIB_PER_CPU: Readonly<Record<string, number>> = { standard: 4, highmem: 8, highcpu: 1 };
/** Custom types of N1 have no family prefix. https://cloud.google.com/compute/docs/instances/creating-instance-with-custom-machine-type */
const FAMILY = /^(e2|n1|n2|n2d|c2|c3|t2d|t2a|custom)-/;

/** Machine types in lists: a small selection. */
export const SOME_MACHINE_TYPES = ['n2-standard-4', 'e2-standard-2', 'e2-standard-4', 'e2-highcpu-8'];

/** CPUs and memory of a machine type; `undefined` if it does not exist. */
export function sizeOf(machineType: string): { cpus: number; mib: number } | undefined {
  if (!FAMILY.test(machineType)) return undefined;
  const custom = /(?:^|-)custom-(\d+)-(\d+)(?:-ext)?$/.exec(machineType);
  if (custom) return { cpus: Number(custom[1]), mib: Number(custom[2]) };
  const [, kind = '', cpus = ''] = /-(standard|highmem|highcpu)-(\d+)$/.exec(machineType) ?? [];
  const gib = GIB_PER_CPU[kind];
  return gib === undefined ? undefined : { cpus: Number(cpus), mib: Number(cpus) * gib * 1_024 };
}

/** Quota for the CPUs of a machine type. https://cloud.google.com/compute/resource-usage#cpu_quota */
export function cpuQuotaOf(machineType: string, isSpot: boolean, has: (metric: string) => boolean): string {
  if (isSpot && has('PREEMPTIBLE_CPUS')) return 'PREEMPTIBLE_CPUS';
  const family = `${machineType.split('-')[0]?.toUpperCase()}_CPUS`;
  return has(family) ? family : 'CPUS';
}

/** Machine type resource of the API. */
export function describeMachineType(url: string, name: string, size: { cpus: number; mib: number }): JsonObject {
  return {
    kind: 'compute#machineType',
    name,
    guestCpus: size.cpus,
    memoryMb: size.mib,
    selfLink: url,
  };
}
