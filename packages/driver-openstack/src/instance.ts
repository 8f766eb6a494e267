import type { Resources } from '@nodepool/zk-protocol';
import type { Instance } from '@nodepool/core';
import { chooseAddresses, type NetworkView } from './addresses.js';
import type { CloudSettings } from './client/clouds/types.js';
import type { Flavor, Server } from './client/compute.js';

/** A server in core's terms. */
export interface OpenStackInstance extends Instance {
  readonly server: Server;
}

/** Facts of the cloud that {@link toInstance} needs. */
export interface InstanceContext {
  /** `region-name` of the provider. */
  readonly region: string | undefined;
  readonly settings: CloudSettings;
  readonly networks: NetworkView;
  /** By id and by name. */
  readonly flavors: ReadonlyMap<string, Flavor>;
  /** Known sizes of volumes, GB. */
  readonly volumeSizes: ReadonlyMap<string, number>;
  readonly hasIpv6: boolean;
}

/** Final states. */
const GONE = new Set(['DELETED', 'SOFT_DELETED']);

/** Translates a server of the cloud. */
export function toInstance(server: Server, context: InstanceContext): OpenStackInstance {
  const addresses = chooseAddresses(server, context.networks, context.settings, context.hasIpv6);
  return {
    externalId: server.id,
    ready: server.status === 'ACTIVE' && addresses.interfaceIp !== undefined,
    deleted: GONE.has(server.status),
    unusable: unusableText(server),
    status: statusOf(server, addresses.interfaceIp !== undefined),
    interfaceIp: addresses.interfaceIp ?? null,
    // like the Python implementation for a missing address
    publicIpv4: addresses.publicIpv4 ?? '',
    publicIpv6: addresses.publicIpv6 ?? '',
    privateIpv4: addresses.privateIpv4 ?? '',
    metadata: server.metadata,
    cloud: context.settings.name,
    region: context.region ?? null,
    az: server.zone ?? null,
    hostId: server.hostId ?? null,
    resources: resourcesOf(server, context),
    server,
  };
}

/** Whether a server is deleted, or is being deleted. */
export function isGoing({ status, taskState = '' }: Pick<Server, 'status' | 'taskState'>): boolean {
  return GONE.has(status) || /delet/i.test(taskState);
}

/** States in which a server does not run, and is not about to by itself. `UNKNOWN` says that Nova does not answer for it. */
const ENDED = new Set(['SHUTOFF', 'ERROR', 'PAUSED', 'SUSPENDED', 'SHELVED', 'SHELVED_OFFLOADED', 'RESCUE']);
/** https://docs.openstack.org/nova/latest/reference/vm-states.html */
const POWER_STATES: Readonly<Record<number, string>> = { 3: 'paused', 4: 'shut down', 6: 'crashed', 7: 'suspended' };

/** Why a server that was ready cannot be used; `undefined`: it can, or nothing is known. */
export function unusableText(
  server: Pick<Server, 'status' | 'taskState' | 'fault' | 'powerState'>,
): string | undefined {
  const { status, taskState, fault, powerState = -1 } = server;
  const because = fault === undefined ? '' : `: ${fault}`;
  if (isGoing(server) || ENDED.has(status)) return `Nova shows it as ${statusOf(server, true)}${because}`;
  const power = status === 'ACTIVE' && taskState === undefined ? POWER_STATES[powerState] : undefined;
  return power === undefined ? undefined : `Nova shows it as ${status}, but the hypervisor as ${power}`;
}

/** Nova's status with the running task, or what the server lacks. */
function statusOf({ status, taskState }: Pick<Server, 'status' | 'taskState'>, hasAddress: boolean): string {
  if (status === 'ACTIVE' && !hasAddress) return 'ACTIVE, without an address';
  return taskState === undefined ? status : `${status} (${taskState})`;
}

function resourcesOf(server: Server, { flavors, volumeSizes }: InstanceContext): Resources {
  const flavor = flavors.get(server.flavor.id ?? '') ?? flavors.get(server.flavor.name ?? '');
  const cores = server.flavor.vcpus ?? flavor?.vcpus;
  const ram = server.flavor.ramMib ?? flavor?.ramMib;
  const resources: Resources = { instances: 1 };
  const ports = new Set(server.addresses.map(({ mac, network }) => mac ?? network)).size;
  if (ports > 0) resources['ports'] = ports;
  const floating = server.addresses.filter(({ type }) => type === 'floating').length;
  if (floating > 0) resources['floating-ips'] = floating;
  if (cores !== undefined) resources['cores'] = cores;
  if (ram !== undefined) resources['ram'] = ram;
  if (server.volumeIds.length > 0) {
    resources['volumes'] = server.volumeIds.length;
    resources['volume-gb'] = server.volumeIds.reduce((sum, id) => sum + (volumeSizes.get(id) ?? 0), 0);
  }
  return resources;
}
