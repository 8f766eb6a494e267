import { isMap, type JsonObject } from '@nodepool/zk-protocol';
import { isOpenStackError } from './errors.js';
import { numberIn, objectIn, objectsIn, textIn, textsOf } from './read-values.js';
import type { Service } from './service.js';

/** An address of a server. */
export interface ServerAddress {
  readonly network: string;
  readonly address: string;
  readonly version: 4 | 6;
  readonly type: 'fixed' | 'floating' | undefined;
  readonly mac: string | undefined;
}

/** The flavor of a server: its id or, in later API versions, its name and size. */
export interface ServerFlavor {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly vcpus: number | undefined;
  readonly ramMib: number | undefined;
}

/** A server. */
export interface Server {
  readonly id: string;
  readonly name: string;
  /** In capital letters, e.g. `BUILD`, `ACTIVE`, `ERROR`, `DELETED`. */
  readonly status: string;
  /** Running task, e.g. `deleting`. */
  readonly taskState: string | undefined;
  /** What the hypervisor shows: 1 is running. */
  readonly powerState: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly addresses: readonly ServerAddress[];
  readonly accessIpv4: string | undefined;
  readonly accessIpv6: string | undefined;
  readonly zone: string | undefined;
  readonly hostId: string | undefined;
  readonly flavor: ServerFlavor;
  readonly volumeIds: readonly string[];
  readonly createdAt: string;
  /** Why its status is `ERROR`. Lists of some clouds omit it; then read the server. */
  readonly fault: string | undefined;
}

/** A size of servers. */
export interface Flavor {
  readonly id: string;
  readonly name: string;
  readonly vcpus: number;
  readonly ramMib: number;
}

/** The order for a server. */
export interface ServerOrder {
  readonly name: string;
  readonly flavorId: string;
  /** `undefined` when it boots from a volume. */
  readonly imageId: string | undefined;
  readonly zone?: string | undefined;
  readonly keyName?: string | undefined;
  readonly configDrive?: true | undefined;
  readonly securityGroups?: readonly string[] | undefined;
  /** Not encoded. */
  readonly userData?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Ids; `auto` lets Nova choose or make one. */
  readonly networks: readonly string[] | 'auto';
  readonly bootVolume?:
    { readonly imageId: string; readonly sizeGb: number; readonly type: string | undefined } | undefined;
  /** Id of a server group. */
  readonly serverGroup?: string | undefined;
}

/** Limits of Nova; `-1`: none. */
export interface ComputeLimits {
  readonly instances: number | undefined;
  readonly cores: number | undefined;
  readonly ramMib: number | undefined;
}

/** The compute service, Nova. */
export class Compute {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** All servers of the project. @param filter - as the API takes it, e.g. `{ name: '^np1$' }`; not every cloud applies it */
  async servers(signal: AbortSignal, filter: Readonly<Record<string, string>> = {}): Promise<Server[]> {
    return this.#service.list('servers', readServer, { path: '/servers/detail', query: filter, signal });
  }

  /** One server; `undefined` if it does not exist. */
  async server(id: string, signal: AbortSignal): Promise<Server | undefined> {
    return this.#service.one('server', readServer, { path: `/servers/${part(id)}`, signal });
  }

  /** Orders a server. @returns its id */
  async createServer(order: ServerOrder, signal: AbortSignal): Promise<string | undefined> {
    const { body } = await this.#service.call({
      lane: 'create',
      method: 'POST',
      path: '/servers',
      body: serverBody(order),
      microversion: versionFor(order),
      signal,
    });
    return textIn(objectIn(body, 'server'), 'id');
  }

  /** Adds metadata to a server. @throws {OpenStackError} `not-found` */
  async mark(id: string, metadata: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const path = `/servers/${part(id)}/metadata`;
    await this.#service.call({ lane: 'change', method: 'POST', path, body: { metadata: { ...metadata } }, signal });
  }

  /** Deletes a server. @throws {OpenStackError} `not-found`, `conflict` */
  async deleteServer(id: string, signal: AbortSignal): Promise<void> {
    await this.#service.call({ lane: 'delete', method: 'DELETE', path: `/servers/${part(id)}`, signal });
  }

  /** Stops a server. @throws {OpenStackError} `not-found`, `conflict`: it does not run, or is being changed */
  async stopServer(id: string, signal: AbortSignal): Promise<void> {
    await this.#act(id, { 'os-stop': null }, signal);
  }

  /** Starts a stopped server. @throws {OpenStackError} `not-found`, `conflict`: it is not stopped, or is being changed */
  async startServer(id: string, signal: AbortSignal): Promise<void> {
    await this.#act(id, { 'os-start': null }, signal);
  }

  async #act(id: string, body: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#service.call({ lane: 'change', method: 'POST', path: `/servers/${part(id)}/action`, body, signal });
  }

  /** Console output of the server; `undefined` if not available. */
  async consoleOutput(id: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { body } = await this.#service.call({
        lane: 'read',
        method: 'POST',
        path: `/servers/${part(id)}/action`,
        body: { 'os-getConsoleOutput': {} },
        signal,
      });
      return isMap(body) ? textIn(body, 'output') : undefined;
    } catch (error) {
      if (isOpenStackError(error) && error.status !== undefined && error.status < 500) return undefined;
      throw error;
    }
  }

  /** All flavors of the project. */
  async flavors(signal: AbortSignal): Promise<Flavor[]> {
    return this.#service.list('flavors', readFlavor, { path: '/flavors/detail', signal });
  }

  /** Names of the user's SSH key pairs. */
  async keyPairs(signal: AbortSignal): Promise<string[]> {
    const { body } = await this.#service.call({ lane: 'list', method: 'GET', path: '/os-keypairs', signal });
    const pairs = isMap(body) ? objectsIn(body, 'keypairs') : [];
    return pairs.flatMap((pair) => textIn(objectIn(pair, 'keypair'), 'name') ?? []);
  }

  /** Names of the available zones. */
  async zones(signal: AbortSignal): Promise<string[]> {
    const { body } = await this.#service.call({ lane: 'list', method: 'GET', path: '/os-availability-zone', signal });
    const zones = isMap(body) ? objectsIn(body, 'availabilityZoneInfo') : [];
    return zones
      .filter((zone) => objectIn(zone, 'zoneState')['available'] !== false)
      .flatMap((zone) => textIn(zone, 'zoneName') ?? []);
  }

  /** The project's limits. */
  async limits(signal: AbortSignal): Promise<ComputeLimits> {
    const { body } = await this.#service.call({ lane: 'read', method: 'GET', path: '/limits', signal });
    const absolute = objectIn(objectIn(body, 'limits'), 'absolute');
    return {
      instances: numberIn(absolute, 'maxTotalInstances'),
      cores: numberIn(absolute, 'maxTotalCores'),
      ramMib: numberIn(absolute, 'maxTotalRAMSize'),
    };
  }

  /** Ids of server groups by name and by id. */
  async serverGroups(signal: AbortSignal): Promise<{ readonly id: string; readonly name: string }[]> {
    return this.#service.list('server_groups', readGroup, { path: '/os-server-groups', signal });
  }
}

/** Escapes an id for use in a path. */
function part(id: string): string {
  return encodeURIComponent(id);
}

/** The lowest API version that supports the order. */
function versionFor(order: ServerOrder): string | undefined {
  if (order.bootVolume?.type !== undefined) return '2.67';
  return order.networks === 'auto' ? '2.37' : undefined;
}

function serverBody(order: ServerOrder): JsonObject {
  const { bootVolume } = order;
  const server: JsonObject = {
    name: order.name,
    flavorRef: order.flavorId,
    imageRef: bootVolume ? '' : (order.imageId ?? ''),
    min_count: 1,
    max_count: 1,
    metadata: { ...order.metadata },
    networks: order.networks === 'auto' ? 'auto' : order.networks.map((uuid) => ({ uuid })),
    ...(order.zone !== undefined && { availability_zone: order.zone }),
    ...(order.keyName !== undefined && { key_name: order.keyName }),
    ...(order.configDrive && { config_drive: true }),
    ...(order.securityGroups?.length && { security_groups: order.securityGroups.map((name) => ({ name })) }),
    ...(order.userData !== undefined && { user_data: Buffer.from(order.userData, 'utf8').toString('base64') }),
    ...(bootVolume && {
      block_device_mapping_v2: [
        {
          boot_index: '0',
          source_type: 'image',
          uuid: bootVolume.imageId,
          destination_type: 'volume',
          volume_size: String(bootVolume.sizeGb),
          delete_on_termination: true,
          ...(bootVolume.type !== undefined && { volume_type: bootVolume.type }),
        },
      ],
    }),
  };
  if (order.serverGroup === undefined) return { server };
  return { server, 'os:scheduler_hints': { group: order.serverGroup } };
}

function readFlavor(flavor: JsonObject): Flavor | undefined {
  const id = textIn(flavor, 'id');
  const name = textIn(flavor, 'name');
  if (id === undefined || name === undefined) return undefined;
  return { id, name, vcpus: numberIn(flavor, 'vcpus') ?? 0, ramMib: numberIn(flavor, 'ram') ?? 0 };
}

function readGroup(group: JsonObject): { readonly id: string; readonly name: string } | undefined {
  const id = textIn(group, 'id');
  return id === undefined ? undefined : { id, name: textIn(group, 'name') ?? id };
}

function readServer(server: JsonObject): Server | undefined {
  const id = textIn(server, 'id');
  if (id === undefined) return undefined;
  const flavor = objectIn(server, 'flavor');
  return {
    id,
    name: textIn(server, 'name') ?? '',
    status: (textIn(server, 'status') ?? 'UNKNOWN').toUpperCase(),
    taskState: textIn(server, 'OS-EXT-STS:task_state'),
    powerState: numberIn(server, 'OS-EXT-STS:power_state'),
    metadata: textsOf(objectIn(server, 'metadata')),
    addresses: readAddresses(objectIn(server, 'addresses')),
    accessIpv4: textIn(server, 'accessIPv4') || undefined,
    accessIpv6: textIn(server, 'accessIPv6') || undefined,
    zone: textIn(server, 'OS-EXT-AZ:availability_zone') || undefined,
    hostId: textIn(server, 'hostId') || undefined,
    flavor: {
      id: textIn(flavor, 'id'),
      name: textIn(flavor, 'original_name'),
      vcpus: numberIn(flavor, 'vcpus'),
      ramMib: numberIn(flavor, 'ram'),
    },
    volumeIds: objectsIn(server, 'os-extended-volumes:volumes_attached').flatMap((one) => textIn(one, 'id') ?? []),
    createdAt: textIn(server, 'created') ?? '',
    fault: textIn(objectIn(server, 'fault'), 'message'),
  };
}

function readAddresses(networks: JsonObject): ServerAddress[] {
  return Object.keys(networks).flatMap((network) =>
    objectsIn(networks, network).flatMap((entry) => {
      const address = textIn(entry, 'addr');
      if (address === undefined) return [];
      const type = textIn(entry, 'OS-EXT-IPS:type');
      return [
        {
          network,
          address,
          version: entry['version'] === 6 || address.includes(':') ? (6 as const) : (4 as const),
          type: type === 'fixed' || type === 'floating' ? type : undefined,
          mac: textIn(entry, 'OS-EXT-IPS-MAC:mac_addr'),
        },
      ];
    }),
  );
}
