import type { Instance } from '@nodepool/core';
import type { CloudInstance, InstanceStatus } from '../cloud/index.js';

/** An instance in core's terms. */
export interface FakeInstance extends Instance {
  readonly status: InstanceStatus;
  /** Why its status is `error`. */
  readonly fault: string | undefined;
}

/** States in which an instance does not run and is not about to. */
const ENDED: ReadonlySet<InstanceStatus> = new Set(['stopping', 'stopped', 'error', 'deleting']);

/** Translates an instance of the cloud. */
export function toInstance(shown: CloudInstance, cloud: string, region: string | null): FakeInstance {
  const { id, status, metadata, address, az, cores, ram, port, hostKeys, fault } = shown;
  return {
    externalId: id,
    ready: status === 'active' && address !== null,
    deleted: false,
    unusable: ENDED.has(status)
      ? `the cloud shows it as ${status}${fault === undefined ? '' : `: ${fault}`}`
      : undefined,
    interfaceIp: address,
    publicIpv4: address,
    privateIpv4: address,
    metadata,
    cloud,
    region,
    az,
    resources: { instances: 1, cores, ram },
    ...(port !== undefined && { connectionPort: port }),
    ...(hostKeys && { hostKeys }),
    status,
    fault,
  };
}
