import type { Instance, Resources } from '@nodepool/core';
import { nameOf, type ApiInstance } from './api.js';
import { ATTEMPT_LABEL } from './ownership.js';

/** An instance in core's terms. Its external id is its name. */
export interface GceInstance extends Instance {
  readonly az: string;
  readonly machineType: string;
  readonly status: string;
  /** Request id of its insert; `undefined`: created by another program. */
  readonly attempt: string | undefined;
}

/** Translates an instance of the API. */
export function toInstance(
  shown: ApiInstance,
  metadata: Readonly<Record<string, string>>,
  resources: Resources,
): GceInstance {
  const [first = {}] = shown.networkInterfaces ?? [];
  const az = nameOf(shown.zone);
  const publicIpv4 = first.accessConfigs?.[0]?.natIP ?? null;
  const publicIpv6 = first.ipv6AccessConfigs?.[0]?.externalIpv6 ?? null;
  const privateIpv4 = first.networkIP ?? null;
  const privateIpv6 = first.ipv6Address ?? null;
  const interfaceIp = publicIpv4 ?? publicIpv6 ?? privateIpv4 ?? privateIpv6;
  return {
    externalId: shown.name,
    ready: shown.status === 'RUNNING' && interfaceIp !== null,
    deleted: false,
    interfaceIp,
    publicIpv4,
    publicIpv6,
    privateIpv4,
    privateIpv6,
    metadata,
    cloud: 'Google',
    az,
    region: az.replace(/-[^-]+$/, ''),
    resources,
    machineType: nameOf(shown.machineType),
    status: shown.status,
    attempt: shown.labels?.[ATTEMPT_LABEL],
  };
}

/** Whether an instance was stopped or preempted and will not run again. */
export function isBroken({ status }: Pick<GceInstance, 'status'>): boolean {
  return ['STOPPING', 'STOPPED', 'TERMINATED', 'SUSPENDING', 'SUSPENDED', 'DEPROVISIONING'].includes(status);
}
