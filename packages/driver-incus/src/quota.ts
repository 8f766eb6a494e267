import type { Resources } from '@nodepool/core';
import type { ApiResources } from './api.js';
import { bytesOf } from './sizes.js';

/** How much of the hardware is promised. */
export interface Overcommit {
  readonly cpu: number;
  readonly memory: number;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/**
 * Limits of a provider: those of its project, else the hardware times the overcommit. Instances without a limit of their own are
 * not counted.
 */
export function limitsOf(
  project: Readonly<Record<string, string>>,
  servers: readonly ApiResources[],
  overcommit: Overcommit,
): Resources {
  const cpus = sum(servers.map(({ cpu }) => cpu.total)) * overcommit.cpu;
  const memory = (sum(servers.map(({ memory }) => memory.total)) / MIB) * overcommit.memory;
  const instances = smallest(countOf(project['limits.instances']), countOf(project['limits.containers']));
  const ofProject = bytesOf(project['limits.memory']);
  const disk = bytesOf(project['limits.disk']);
  return {
    ...(instances !== undefined && { instances }),
    ...given('cores', smallest(countOf(project['limits.cpu']), cpus > 0 ? Math.floor(cpus) : undefined)),
    ...given('ram', smallest(ofProject && Math.floor(ofProject / MIB), memory > 0 ? Math.floor(memory) : undefined)),
    ...given('disk-gb', disk === undefined ? undefined : Math.floor(disk / GIB)),
  };
}

function given(name: string, limit: number | undefined): Resources {
  return limit === undefined ? {} : { [name]: limit };
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function smallest(...limits: (number | undefined)[]): number | undefined {
  const known = limits.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
