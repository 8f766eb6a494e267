import type { Instance, Resources } from '@nodepool/core';
import { nameOf, type ApiInstance } from './api.js';
import { ATTEMPT_LABEL } from './ownership.js';
import type { Placement } from './stock.js';

/** An instance in core's terms. Its external id is its name. */
export interface GceInstance extends Instance {
  readonly az: string;
  readonly machineType: string;
  readonly spot: boolean;
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
    unusable: unusableText(shown),
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
    spot: isSpot(shown),
    status: shown.status,
    attempt: shown.labels?.[ATTEMPT_LABEL],
  };
}

/** Whether it may be preempted. */
export function isSpot({ scheduling }: ApiInstance): boolean {
  return scheduling?.provisioningModel === 'SPOT';
}

/** Where it runs, or can be started. */
export function placementOf({ az: zone, machineType, spot }: GceInstance): Placement {
  return { zone, machineType, spot };
}

/** Whether it does not run, and can be started. */
export function isStopped({ status }: Pick<GceInstance, 'status'>): boolean {
  return status === 'TERMINATED' || status === 'STOPPED';
}

/** https://cloud.google.com/compute/docs/instances/instance-lifecycle: `REPAIRING` is a host that failed. */
function unusableText(shown: ApiInstance): string | undefined {
  if (!isBroken(shown) && shown.status !== 'REPAIRING') return undefined;
  const text = `Google shows it as ${shown.status}`;
  return isSpot(shown) ? `${text}, as it shows a Spot VM that it has preempted` : text;
}

/** Whether an instance was stopped or preempted and will not run again. */
export function isBroken({ status }: Pick<GceInstance, 'status'>): boolean {
  return ['STOPPING', 'STOPPED', 'TERMINATED', 'SUSPENDING', 'SUSPENDED', 'DEPROVISIONING'].includes(status);
}
