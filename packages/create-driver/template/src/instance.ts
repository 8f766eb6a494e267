import type { Instance } from '@nodepool/core';
import type { Machine } from './client.js';

/** A machine as Nodepool sees it. */
export interface TemplateInstance extends Instance {
  readonly status: Machine['status'];
}

/** Translates what the cloud says about a machine. */
export function toInstance({ id, status, address, tags }: Machine): TemplateInstance {
  return {
    externalId: id,
    ready: status === 'running' && address !== null,
    deleted: false,
    interfaceIp: address,
    publicIpv4: address,
    metadata: tags,
    status,
  };
}
