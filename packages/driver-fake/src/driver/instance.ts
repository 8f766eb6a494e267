import type { Instance } from '@nodepool/core';
import type { CloudInstance, InstanceStatus } from '../cloud/index.js';

/** An instance in core's terms. */
export interface FakeInstance extends Instance {
  readonly status: InstanceStatus;
  /** Why its status is `error`. */
  readonly fault: string | undefined;
}

/** Translates an instance of the cloud. */
export function toInstance(shown: CloudInstance, cloud: string, region: string | null): FakeInstance {
  const { id, status, metadata, address, az, cores, ram, port, hostKeys, fault } = shown;
  return {
    externalId: id,
    ready: status === 'active' && address !== null,
    deleted: false,
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
