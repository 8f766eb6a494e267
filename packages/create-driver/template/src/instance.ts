import type { Instance } from '@nodepool/core';
import type { Machine } from './client.js';

/** A machine in Nodepool's terms. */
export interface TemplateInstance extends Instance {
  readonly status: Machine['status'];
}

/** Converts a machine from an API response. */
export function toInstance({ id, status, address, tags }: Machine): TemplateInstance {
  return {
    externalId: id,
    ready: status === 'running' && address !== null,
    deleted: false,
    // a ready node whose machine shows this is withdrawn; without it a stopped machine would be lent
    unusable: status === 'starting' || status === 'running' ? undefined : `the cloud shows it as ${status}`,
    interfaceIp: address,
    publicIpv4: address,
    metadata: tags,
    status,
  };
}
