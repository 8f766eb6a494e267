import type { JsonObject } from '@nodepool/zk-protocol';
import { isOpenStackError } from './errors.js';
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
    return (await this.#service.list('networks', { path: '/networks', signal })).flatMap(readNetwork);
  }

  async subnets(signal: AbortSignal): Promise<Subnet[]> {
    return (await this.#service.list('subnets', { path: '/subnets', signal })).flatMap(readSubnet);
  }

  /** Ports. @param filter - e.g. `{ device_id: … }`; not every cloud applies it, so check the results */
  async ports(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Port[]> {
    return (await this.#service.list('ports', { path: '/ports', query: filter, signal })).flatMap(readPort);
  }

  async deletePort(id: string, signal: AbortSignal): Promise<void> {
    await this.#service.call({ lane: 'delete', method: 'DELETE', path: `/ports/${encodeURIComponent(id)}`, signal });
  }

  async floatingIps(signal: AbortSignal): Promise<FloatingIp[]> {
    return (await this.#service.list('floatingips', { path: '/floatingips', signal })).flatMap(readFloatingIp);
  }

  /** One floating IP; `undefined` if it does not exist. */
  async floatingIp(id: string, signal: AbortSignal): Promise<FloatingIp | undefined> {
    try {
      const path = `/floatingips/${encodeURIComponent(id)}`;
      const { body } = await this.#service.call({ lane: 'read', method: 'GET', path, signal });
      return readFloatingIp(objectIn(body, 'floatingip'))[0];
    } catch (error) {
      if (isOpenStackError(error, 'not-found')) return undefined;
      throw error;
    }
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
    return readFloatingIp(objectIn(body, 'floatingip'))[0];
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
    return readFloatingIp(objectIn(body, 'floatingip'))[0];
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
    const found = await this.#service.list('security_groups', { path: '/security-groups', signal });
    return found.flatMap((group) => {
      const id = textIn(group, 'id');
      const projectId = textIn(group, 'project_id') ?? textIn(group, 'tenant_id');
      return id === undefined ? [] : [{ id, name: textIn(group, 'name') ?? id, projectId }];
    });
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

function readNetwork(network: JsonObject): Network[] {
  const id = textIn(network, 'id');
  if (id === undefined) return [];
  return [
    {
      id,
      name: textIn(network, 'name') ?? id,
      isExternal: network['router:external'] === true,
      isShared: network['shared'] === true,
      hasPhysicalNetwork: (textIn(network, 'provider:physical_network') ?? '') !== '',
      subnetIds: textsIn(network, 'subnets'),
    },
  ];
}

function readSubnet(subnet: JsonObject): Subnet[] {
  const id = textIn(subnet, 'id');
  if (id === undefined) return [];
  return [
    {
      id,
      networkId: textIn(subnet, 'network_id') ?? '',
      version: subnet['ip_version'] === 6 ? 6 : 4,
      cidr: textIn(subnet, 'cidr') ?? '',
      hasGateway: (textIn(subnet, 'gateway_ip') ?? '') !== '',
    },
  ];
}

function readPort(port: JsonObject): Port[] {
  const id = textIn(port, 'id');
  if (id === undefined) return [];
  return [
    {
      id,
      networkId: textIn(port, 'network_id') ?? '',
      status: textIn(port, 'status') ?? '',
      deviceId: textIn(port, 'device_id') ?? '',
      deviceOwner: textIn(port, 'device_owner') ?? '',
      vnicType: textIn(port, 'binding:vnic_type') ?? 'normal',
      tags: textsIn(port, 'tags'),
      createdAt: textIn(port, 'created_at') ?? '',
      fixedIps: objectsIn(port, 'fixed_ips').flatMap((ip) => textIn(ip, 'ip_address') ?? []),
    },
  ];
}

function readFloatingIp(ip: JsonObject): FloatingIp[] {
  const id = textIn(ip, 'id');
  if (id === undefined) return [];
  return [
    {
      id,
      address: textIn(ip, 'floating_ip_address') ?? '',
      networkId: textIn(ip, 'floating_network_id') ?? '',
      portId: textIn(ip, 'port_id') || undefined,
      fixedAddress: textIn(ip, 'fixed_ip_address') || undefined,
      status: textIn(ip, 'status') ?? '',
      description: textIn(ip, 'description') ?? '',
      revision: numberIn(ip, 'revision_number'),
    },
  ];
}
