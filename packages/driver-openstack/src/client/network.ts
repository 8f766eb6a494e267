import type { JsonObject } from '@nodepool/zk-protocol';
import { numberIn, objectIn, objectsIn, textIn, textsIn } from './read-values.js';
import type { Service } from './service.js';

/** A network. */
export interface Network {
  readonly id: string;
  readonly name: string;
  /** Whether it provides floating IPs. */
  readonly isExternal: boolean;
  readonly isShared: boolean;
  /** Whether it maps to a physical network, e.g. a VLAN. */
  readonly hasPhysicalNetwork: boolean;
  readonly subnetIds: readonly string[];
}

/** A range of addresses in a network. */
export interface Subnet {
  readonly id: string;
  readonly networkId: string;
  readonly version: 4 | 6;
  /** E.g. `10.0.0.0/24`; empty: the cloud does not say. */
  readonly cidr: string;
  readonly hasGateway: boolean;
}

/** A port. */
export interface Port {
  readonly id: string;
  readonly networkId: string;
  readonly status: string;
  readonly deviceId: string;
  readonly deviceOwner: string;
  readonly vnicType: string;
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly fixedIps: readonly string[];
}

/** A floating IP. */
export interface FloatingIp {
  readonly id: string;
  readonly address: string;
  readonly networkId: string;
  /** `undefined`: not attached. */
  readonly portId: string | undefined;
  readonly fixedAddress: string | undefined;
  readonly status: string;
  readonly description: string;
  readonly revision: number | undefined;
}

/** A floating IP to create. */
export interface FloatingIpRequest {
  readonly networkId: string;
  readonly portId: string;
  /** Address of the port; `undefined`: its only one. */
  readonly fixedAddress: string | undefined;
  /** Marks its owner. */
  readonly description: string;
}

/** A security group. */
export interface SecurityGroup {
  readonly id: string;
  readonly name: string;
  /** `undefined`: the cloud does not say. */
  readonly projectId: string | undefined;
}

/** Limits of Neutron; `-1`: none. */
export interface NetworkLimits {
  readonly ports: NetworkLimit | undefined;
  readonly floatingIps: NetworkLimit | undefined;
}

/** Limit and usage. */
export interface NetworkLimit {
  readonly limit: number;
  readonly used: number | undefined;
}

/** The network service, Neutron. */
export class NetworkApi {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Whether the cloud has this service. */
  exists(signal: AbortSignal): Promise<boolean> {
    return this.#service.exists(signal);
  }

  async networks(signal: AbortSignal): Promise<Network[]> {
    return this.#service.list('networks', readNetwork, { path: '/networks', signal });
  }

  async subnets(signal: AbortSignal): Promise<Subnet[]> {
    return this.#service.list('subnets', readSubnet, { path: '/subnets', signal });
  }

  /** Ports. @param filter - e.g. `{ device_id: … }`; not every cloud applies it, so check the results */
  async ports(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Port[]> {
    return this.#service.list('ports', readPort, { path: '/ports', query: filter, signal });
  }

  async deletePort(id: string, signal: AbortSignal): Promise<void> {
    await this.#service.call({ lane: 'delete', method: 'DELETE', path: `/ports/${encodeURIComponent(id)}`, signal });
  }

  async floatingIps(signal: AbortSignal): Promise<FloatingIp[]> {
    return this.#service.list('floatingips', readFloatingIp, { path: '/floatingips', signal });
  }

  /** One floating IP; `undefined` if it does not exist. */
  async floatingIp(id: string, signal: AbortSignal): Promise<FloatingIp | undefined> {
    const path = `/floatingips/${encodeURIComponent(id)}`;
    return this.#service.one('floatingip', readFloatingIp, { path, signal });
  }

  /**
   * Creates a floating IP and attaches it.
   * @throws {OpenStackError} `conflict`: the address of the port has one
   */
  async createFloatingIp(order: FloatingIpRequest, signal: AbortSignal): Promise<FloatingIp | undefined> {
    const floatingip = {
      floating_network_id: order.networkId,
      port_id: order.portId,
      description: order.description,
      ...(order.fixedAddress !== undefined && { fixed_ip_address: order.fixedAddress }),
    };
    const call = { lane: 'create', method: 'POST', path: '/floatingips', body: { floatingip }, signal } as const;
    const { body } = await this.#service.call(call);
    return readFloatingIp(objectIn(body, 'floatingip'));
  }

  /**
   * Attaches a floating IP, or with `null` detaches it.
   * @param revision - fail if it has changed since
   * @throws {OpenStackError} `conflict`: it has changed
   */
  async attachFloatingIp(
    id: string,
    to: { portId: string | null; fixedAddress?: string | undefined; description?: string | undefined },
    revision: number | undefined,
    signal: AbortSignal,
  ): Promise<FloatingIp | undefined> {
    const floatingip: JsonObject = {
      port_id: to.portId,
      ...(to.fixedAddress !== undefined && { fixed_ip_address: to.fixedAddress }),
      ...(to.description !== undefined && { description: to.description }),
    };
    const { body } = await this.#service.call({
      lane: 'change',
      method: 'PUT',
      path: `/floatingips/${encodeURIComponent(id)}`,
      body: { floatingip },
      headers: revision === undefined ? {} : { 'if-match': `revision_number=${revision}` },
      signal,
    });
    return readFloatingIp(objectIn(body, 'floatingip'));
  }

  /** Replaces the description of a floating IP. */
  async describeFloatingIp(id: string, description: string, signal: AbortSignal): Promise<void> {
    const path = `/floatingips/${encodeURIComponent(id)}`;
    await this.#service.call({ lane: 'change', method: 'PUT', path, body: { floatingip: { description } }, signal });
  }

  async deleteFloatingIp(id: string, signal: AbortSignal): Promise<void> {
    const path = `/floatingips/${encodeURIComponent(id)}`;
    await this.#service.call({ lane: 'delete', method: 'DELETE', path, signal });
  }

  /** Security groups that the project can see. */
  async securityGroups(signal: AbortSignal): Promise<SecurityGroup[]> {
    return this.#service.list('security_groups', readSecurityGroup, { path: '/security-groups', signal });
  }

  /** Limits and usage of the project. */
  async limits(projectId: string, signal: AbortSignal): Promise<NetworkLimits> {
    const path = `/quotas/${encodeURIComponent(projectId)}/details.json`;
    const { body } = await this.#service.call({ lane: 'read', method: 'GET', path, signal });
    const quota = objectIn(body, 'quota');
    return { ports: readLimit(objectIn(quota, 'port')), floatingIps: readLimit(objectIn(quota, 'floatingip')) };
  }
}

function readLimit(entry: JsonObject): NetworkLimit | undefined {
  const limit = numberIn(entry, 'limit');
  if (limit === undefined) return undefined;
  return { limit, used: numberIn(entry, 'used') };
}

function readNetwork(network: JsonObject): Network | undefined {
  const id = textIn(network, 'id');
  if (id === undefined) return undefined;
  return {
    id,
    name: textIn(network, 'name') ?? id,
    isExternal: network['router:external'] === true,
    isShared: network['shared'] === true,
    hasPhysicalNetwork: (textIn(network, 'provider:physical_network') ?? '') !== '',
    subnetIds: textsIn(network, 'subnets'),
  };
}

function readSubnet(subnet: JsonObject): Subnet | undefined {
  const id = textIn(subnet, 'id');
  if (id === undefined) return undefined;
  return {
    id,
    networkId: textIn(subnet, 'network_id') ?? '',
    version: subnet['ip_version'] === 6 ? 6 : 4,
    cidr: textIn(subnet, 'cidr') ?? '',
    hasGateway: (textIn(subnet, 'gateway_ip') ?? '') !== '',
  };
}

function readSecurityGroup(group: JsonObject): SecurityGroup | undefined {
  const id = textIn(group, 'id');
  const projectId = textIn(group, 'project_id') ?? textIn(group, 'tenant_id');
  return id === undefined ? undefined : { id, name: textIn(group, 'name') ?? id, projectId };
}

function readPort(port: JsonObject): Port | undefined {
  const id = textIn(port, 'id');
  if (id === undefined) return undefined;
  return {
    id,
    networkId: textIn(port, 'network_id') ?? '',
    status: textIn(port, 'status') ?? '',
    deviceId: textIn(port, 'device_id') ?? '',
    deviceOwner: textIn(port, 'device_owner') ?? '',
    vnicType: textIn(port, 'binding:vnic_type') ?? 'normal',
    tags: textsIn(port, 'tags'),
    createdAt: textIn(port, 'created_at') ?? '',
    fixedIps: objectsIn(port, 'fixed_ips').flatMap((ip) => textIn(ip, 'ip_address') ?? []),
  };
}

function readFloatingIp(ip: JsonObject): FloatingIp | undefined {
  const id = textIn(ip, 'id');
  const port = ip['port_id'];
  // a floating IP that seems unattached may be deleted
  if (id === undefined || (port !== null && typeof port !== 'string')) return undefined;
  return {
    id,
    address: textIn(ip, 'floating_ip_address') ?? '',
    networkId: textIn(ip, 'floating_network_id') ?? '',
    portId: port || undefined,
    fixedAddress: textIn(ip, 'fixed_ip_address') || undefined,
    status: textIn(ip, 'status') ?? '',
    description: textIn(ip, 'description') ?? '',
    revision: numberIn(ip, 'revision_number'),
  };
}
