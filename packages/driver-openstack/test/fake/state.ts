import { randomUUID } from 'node:crypto';
import type { Clock, JsonObject } from '@nodepool/zk-protocol';
import { text } from './http.js';

export interface FakeServer {
  readonly id: string;
  readonly name: string;
  status: string;
  taskState: string | null;
  metadata: JsonObject;
  readonly flavorId: string;
  readonly imageId: string;
  readonly zone: string;
  readonly keyName: string | null;
  readonly userData: string | undefined;
  readonly configDrive: boolean;
  readonly securityGroups: readonly string[];
  readonly hints: JsonObject;
  readonly microversion: string | undefined;
  readonly devices: readonly JsonObject[];
  readonly volumeIds: string[];
  readonly createdMs: number;
  fault: string | undefined;
}

export interface FakePort {
  readonly id: string;
  readonly networkId: string;
  status: string;
  deviceId: string;
  readonly deviceOwner: string;
  readonly vnicType: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly tags: readonly string[];
  readonly createdMs: number;
}

export interface FakeFloatingIp {
  readonly id: string;
  readonly address: string;
  readonly networkId: string;
  portId: string | null;
  fixedAddress: string | null;
  status: string;
  description: string;
  revision: number;
}

export interface FakeVolume {
  readonly id: string;
  readonly size: number;
  status: string;
  metadata: JsonObject;
  serverId: string | undefined;
  /** It stays when its server goes. */
  readonly keep: boolean;
}

/** How the cloud behaves. */
export interface Knobs {
  bootMs: number;
  deleteMs: number;
  /** To stop or start a server. */
  powerMs: number;
  /** Time of each call. */
  apiMs: number;
  pageSize: number;
  tokenLifeMs: number;
  ignoresFilters: boolean;
  /** Lists of servers do not tell why one is in `ERROR`. */
  hidesFaults: boolean;
  maxMicroversion: string;
  hasNetwork: boolean;
  hasVolumes: boolean;
  /** What snapshots take of the gigabytes. */
  snapshotGb: number;
}

/** Everything that is in the cloud. */
export class FakeCloudState {
  readonly clock: Clock;
  readonly knobs: Knobs = {
    ...{ bootMs: 0, deleteMs: 0, powerMs: 0, apiMs: 0, pageSize: 1_000, tokenLifeMs: 3_600_000, ignoresFilters: false },
    ...{ hidesFaults: false, maxMicroversion: '2.93', hasNetwork: true, hasVolumes: true, snapshotGb: 0 },
  };
  readonly quota = { instances: -1, cores: -1, ram: -1, volumes: 100, gigabytes: 4_000, port: 500, floatingip: 50 };
  zones: string[] = ['nova'];
  console = 'login: ';
  readonly flavors = [
    { id: 'f-1', name: 'm1.tiny', vcpus: 1, ram: 512 },
    { id: 'f-2', name: 'm1.small', vcpus: 1, ram: 2_048 },
    { id: 'f-3', name: 'm1.large', vcpus: 4, ram: 8_192 },
  ];
  readonly servers = new Map<string, FakeServer>();
  /** Ids of servers that lists leave out. */
  readonly unlisted = new Set<string>();
  readonly ports = new Map<string, FakePort>();
  /** Where routers connect networks with the external one. */
  readonly routerPorts: FakePort[] = [];
  readonly floatingIps = new Map<string, FakeFloatingIp>();
  readonly volumes = new Map<string, FakeVolume>();
  readonly images = new Map<string, JsonObject>();
  readonly securityGroups: JsonObject[] = ['default', 'ssh', 'web'].map((name, i) => ({
    ...{ id: `sg-${i + 1}`, name, project_id: 'project-1' },
  }));
  readonly keyPairs: string[] = ['ci'];
  readonly serverGroups: JsonObject[] = [{ id: 'group-1', name: 'spread' }];
  readonly networks: JsonObject[] = [];
  readonly subnets: JsonObject[] = [];
  /** How the next servers end: the text of their fault, or `stuck`. `undefined`: well. */
  readonly fates: (string | undefined)[] = [];
  readonly tokens = new Map<string, number>();
  #addresses = 0;

  constructor(clock: Clock) {
    this.clock = clock;
    this.#addNetwork('net-private', 'private', { gateway: '10.0.0.1' });
    this.#addNetwork('net-public', 'public', { physical: true, gateway: '198.51.100.1' });
    this.#addNetwork('net-floating', 'floating', { external: true, gateway: '203.0.113.1' });
    this.routerPorts.push(
      this.makePort('net-private', { deviceOwner: 'network:router_interface', deviceId: 'router' }),
    );
    this.addImage('debian');
  }

  addImage(name: string, more: JsonObject = {}): JsonObject {
    const image: JsonObject = {
      id: randomUUID(),
      name,
      status: 'active',
      visibility: 'public',
      container_format: 'bare',
      disk_format: 'qcow2',
      created_at: new Date(this.clock.now()).toISOString().replace(/\.\d+/, ''),
      ...more,
    };
    this.images.set(text(image['id']), image);
    return image;
  }

  makePort(networkId: string, more: Partial<FakePort>): FakePort {
    const n = ++this.#addresses;
    const prefix = { 'net-public': '198.51', 'net-floating': '203.0' }[networkId] ?? '10.0';
    return {
      id: randomUUID(),
      networkId,
      status: 'ACTIVE',
      deviceId: '',
      deviceOwner: '',
      vnicType: 'normal',
      mac: `fa:16:3e:00:${hex(n >> 8)}:${hex(n & 255)}`,
      addresses: [`${prefix}.${n >> 8}.${n & 255}`],
      tags: [],
      createdMs: this.clock.now(),
      ...more,
    };
  }

  addPort(networkId: string, more: Partial<FakePort> = {}): FakePort {
    const port = this.makePort(networkId, more);
    this.ports.set(port.id, port);
    return port;
  }

  addFloatingIp(more: Partial<FakeFloatingIp> = {}): FakeFloatingIp {
    const n = ++this.#addresses;
    const ip: FakeFloatingIp = {
      id: randomUUID(),
      address: `203.0.113.${n % 250}`,
      networkId: 'net-floating',
      portId: null,
      fixedAddress: null,
      status: 'DOWN',
      description: '',
      revision: 0,
      ...more,
    };
    this.floatingIps.set(ip.id, ip);
    return ip;
  }

  /** Takes a server away with what belongs to it, as Nova does. */
  removeServer(id: string): void {
    const server = this.servers.get(id);
    if (!server) return;
    this.servers.delete(id);
    for (const port of [...this.ports.values()]) {
      if (port.deviceId !== id) continue;
      this.ports.delete(port.id);
      for (const ip of this.floatingIps.values()) {
        if (ip.portId === port.id) Object.assign(ip, { portId: null, fixedAddress: null, status: 'DOWN' });
      }
    }
    for (const volume of [...this.volumes.values()]) {
      if (volume.serverId !== id) continue;
      if (volume.keep) Object.assign(volume, { serverId: undefined, status: 'available' });
      else this.volumes.delete(volume.id);
    }
  }

  #addNetwork(id: string, name: string, of: { external?: boolean; physical?: boolean; gateway?: string }): void {
    this.networks.push({
      id,
      name,
      status: 'ACTIVE',
      shared: of.external !== true,
      subnets: [`sub-${name}`],
      'router:external': of.external === true,
      ...(of.physical && { 'provider:physical_network': 'physnet1' }),
    });
    this.subnets.push({
      id: `sub-${name}`,
      network_id: id,
      ip_version: 4,
      gateway_ip: of.gateway ?? null,
      cidr: of.gateway?.replace(/1$/, '0/24') ?? '',
    });
  }
}

function hex(n: number): string {
  return n.toString(16).padStart(2, '0');
}
