import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { FakeCloudState, FakePort, FakeServer } from './state.js';
import { object, page, Refusal, text, type FakeAnswer, type FakeRequest } from './http.js';

/** Nova. */
export function compute(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const { method, path } = request;
  if (path === '/') return version(state, request);
  if (path === '/servers/detail' && method === 'GET') return listServers(state, request);
  if (path === '/servers' && method === 'POST') return createServer(state, request);
  if (path === '/flavors/detail') return listFlavors(state, request);
  if (path === '/limits') return limits(state);
  if (path === '/os-availability-zone') return zones(state);
  if (path === '/os-keypairs') {
    return { status: 200, body: { keypairs: state.keyPairs.map((name) => ({ keypair: { name } })) } };
  }
  if (path === '/os-server-groups') return { status: 200, body: { server_groups: state.serverGroups } };
  const match = /^\/servers\/([^/]+)(\/action|\/metadata)?$/.exec(path);
  const server = match && state.servers.get(match[1] ?? '');
  if (!match) throw new Refusal(404, 'The resource could not be found.');
  if (!server) throw new Refusal(404, `Instance ${match[1]} could not be found.`);
  if (match[2] === '/metadata') {
    server.metadata = { ...server.metadata, ...object(request.body['metadata']) };
    return { status: 200, body: { metadata: server.metadata } };
  }
  if ('os-stop' in request.body) return act(state, server, { from: 'ACTIVE', to: 'SHUTOFF', task: 'powering-off' });
  if ('os-start' in request.body) return act(state, server, { from: 'SHUTOFF', to: 'ACTIVE', task: 'powering-on' });
  if (match[2] !== undefined) return { status: 200, body: { output: state.console } };
  if (method === 'GET') return { status: 200, body: { server: show(state, server, true) } };
  if (method === 'DELETE') return deleteServer(state, server);
  throw new Refusal(405, 'Method not allowed');
}

function version(state: FakeCloudState, { root }: FakeRequest): FakeAnswer {
  const links = [{ rel: 'self', href: `${root}/` }];
  const version = { id: 'v2.1', status: 'CURRENT', version: state.knobs.maxMicroversion, min_version: '2.1' };
  return { status: 200, body: { version: { ...version, updated: '2013-07-23T11:33:21Z', links } } };
}

function listServers(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const pattern = request.query.get('name');
  const heeds = !state.knobs.ignoresFilters;
  const servers = [...state.servers.values()]
    .filter(({ id }) => !state.unlisted.has(id))
    .filter(({ name }) => !heeds || pattern === null || new RegExp(pattern).test(name))
    .map((server) => show(state, server, false));
  const { items, next } = page(servers, request.query, state.knobs.pageSize);
  const links: JsonObject =
    next === undefined ? {} : { servers_links: [{ rel: 'next', href: `${request.root}/servers/detail?${next}` }] };
  return { status: 200, body: { servers: items, ...links } };
}

function listFlavors(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const flavors = state.flavors.map(({ id, name, vcpus, ram }) => ({ id, name, vcpus, ram, disk: 10 }));
  const { items, next } = page(flavors, request.query, state.knobs.pageSize);
  const links: JsonObject =
    next === undefined ? {} : { flavors_links: [{ rel: 'next', href: `${request.root}/flavors/detail?${next}` }] };
  return { status: 200, body: { flavors: items, ...links } };
}

function limits({ quota }: FakeCloudState): FakeAnswer {
  const absolute = {
    maxTotalInstances: quota.instances,
    maxTotalCores: quota.cores,
    maxTotalRAMSize: quota.ram,
    maxServerMeta: 128,
  };
  return { status: 200, body: { limits: { rate: [], absolute } } };
}

function zones(state: FakeCloudState): FakeAnswer {
  const list = state.zones.map((zoneName) => ({ zoneName, zoneState: { available: true }, hosts: null }));
  return { status: 200, body: { availabilityZoneInfo: list } };
}

/** In one piece: half of it is the list of what is kept of an order. */
function createServer(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const order = object(request.body['server']);
  const name = text(order['name']);
  const flavor = state.flavors.find(({ id }) => id === order['flavorRef']);
  if (!flavor) throw new Refusal(400, `Flavor ${text(order['flavorRef'])} could not be found.`);
  const zone = text(order['availability_zone']);
  if (zone !== '' && !state.zones.includes(zone))
    throw new Refusal(400, 'The requested availability zone is not available');
  const devices = Array.isArray(order['block_device_mapping_v2']) ? order['block_device_mapping_v2'].map(object) : [];
  const imageId = text(order['imageRef']) || text(devices[0]?.['uuid']);
  const image = state.images.get(imageId);
  if (!image || image['status'] !== 'active') throw new Refusal(400, `Image ${imageId} could not be found.`);
  checkQuota(state, flavor.vcpus, flavor.ram);
  const server: FakeServer = {
    id: randomUUID(),
    name,
    status: 'BUILD',
    taskState: 'scheduling',
    metadata: object(order['metadata']),
    flavorId: flavor.id,
    imageId,
    zone: zone || (state.zones[0] ?? 'nova'),
    keyName: text(order['key_name']) || null,
    userData: text(order['user_data']) || undefined,
    configDrive: order['config_drive'] === true,
    securityGroups: Array.isArray(order['security_groups'])
      ? order['security_groups'].map((g) => text(object(g)['name']))
      : [],
    hints: object(request.body['os:scheduler_hints']),
    microversion: request.headers['openstack-api-version'],
    devices,
    volumeIds: [],
    createdMs: state.clock.now(),
    fault: undefined,
  };
  state.servers.set(server.id, server);
  const networks = networksOf(state, order['networks']);
  const fate = state.fates.shift();
  if (fate !== 'stuck') {
    state.clock.setTimer(state.knobs.bootMs, () =>
      fate === undefined ? boot(state, server, networks) : breakDown(server, fate),
    );
  }
  return { status: 202, body: { server: { id: server.id, links: [], adminPass: 'x'.repeat(12) } } };
}

function networksOf(state: FakeCloudState, wanted: JsonObject[string] | undefined): string[] {
  if (wanted === 'auto' || !Array.isArray(wanted) || wanted.length === 0) {
    const first = state.networks.find((network) => network['router:external'] !== true);
    return first ? [text(first['id'])] : [];
  }
  return wanted.map((entry) => {
    const id = text(object(entry)['uuid']);
    if (!state.networks.some((network) => network['id'] === id))
      throw new Refusal(400, `Network ${id} could not be found.`);
    return id;
  });
}

function checkQuota(state: FakeCloudState, cores: number, ram: number): void {
  const use = usage(state);
  const asked = { instances: 1, cores, ram };
  for (const name of ['instances', 'cores', 'ram'] as const) {
    const limit = state.quota[name];
    if (limit >= 0 && use[name] + asked[name] > limit) {
      const message = `Quota exceeded for ${name}: Requested ${asked[name]}, but already used ${use[name]} of ${limit} ${name}`;
      throw new Refusal(403, message);
    }
  }
}

function usage(state: FakeCloudState): { instances: number; cores: number; ram: number } {
  const use = { instances: 0, cores: 0, ram: 0 };
  for (const { flavorId } of state.servers.values()) {
    const flavor = state.flavors.find(({ id }) => id === flavorId);
    use.instances++;
    use.cores += flavor?.vcpus ?? 0;
    use.ram += flavor?.ram ?? 0;
  }
  return use;
}

function boot(state: FakeCloudState, server: FakeServer, networks: readonly string[]): void {
  if (!state.servers.has(server.id) || server.status !== 'BUILD') return;
  for (const networkId of networks) addPort(state, server, networkId);
  for (const device of server.devices) {
    const id = randomUUID();
    const size = Number(device['volume_size']);
    state.volumes.set(id, {
      id,
      size,
      status: 'in-use',
      metadata: {},
      serverId: server.id,
      keep: device['delete_on_termination'] !== true,
    });
    server.volumeIds.push(id);
  }
  server.status = 'ACTIVE';
  server.taskState = null;
}

function addPort(state: FakeCloudState, server: FakeServer, networkId: string): FakePort {
  const port = state.makePort(networkId, { deviceId: server.id, deviceOwner: `compute:${server.zone}` });
  state.ports.set(port.id, port);
  return port;
}

function breakDown(server: FakeServer, fault: string): void {
  if (server.status !== 'BUILD') return;
  server.status = 'ERROR';
  server.taskState = null;
  server.fault = fault;
}

interface PowerChange {
  readonly from: string;
  readonly to: string;
  readonly task: string;
}

function act(state: FakeCloudState, server: FakeServer, { from, to, task }: PowerChange): FakeAnswer {
  if (server.status !== from || server.taskState !== null) {
    const what = `vm_state ${server.status.toLowerCase()}, task_state ${String(server.taskState)}`;
    throw new Refusal(409, `Cannot change instance ${server.id} while it is in ${what}`);
  }
  server.taskState = task;
  state.clock.setTimer(state.knobs.powerMs, () => {
    if (server.taskState === task) Object.assign(server, { status: to, taskState: null });
  });
  return { status: 202 };
}

function deleteServer(state: FakeCloudState, server: FakeServer): FakeAnswer {
  server.taskState = 'deleting';
  state.clock.setTimer(state.knobs.deleteMs, () => state.removeServer(server.id));
  return { status: 204 };
}

function show(state: FakeCloudState, server: FakeServer, isSingle: boolean): JsonObject {
  const addresses: Record<string, JsonObject[]> = {};
  for (const port of state.ports.values()) {
    if (port.deviceId !== server.id) continue;
    const name = text(state.networks.find(({ id }) => id === port.networkId)?.['name']);
    const list = (addresses[name] ??= []);
    const mac = { 'OS-EXT-IPS-MAC:mac_addr': port.mac };
    for (const addr of port.addresses) {
      list.push({ addr, version: addr.includes(':') ? 6 : 4, 'OS-EXT-IPS:type': 'fixed', ...mac });
    }
    for (const ip of state.floatingIps.values()) {
      if (ip.portId !== port.id || ip.status !== 'ACTIVE') continue;
      list.push({ addr: ip.address, version: 4, 'OS-EXT-IPS:type': 'floating', ...mac });
    }
  }
  const isFaulty = server.fault !== undefined && (isSingle || !state.knobs.hidesFaults);
  return {
    id: server.id,
    name: server.name,
    status: server.status,
    metadata: server.metadata,
    flavor: { id: server.flavorId, links: [] },
    image: server.devices.length > 0 ? '' : { id: server.imageId, links: [] },
    addresses,
    accessIPv4: '',
    accessIPv6: '',
    hostId: server.status === 'BUILD' ? '' : 'h'.repeat(56),
    key_name: server.keyName,
    created: new Date(server.createdMs).toISOString(),
    'OS-EXT-AZ:availability_zone': server.zone,
    'OS-EXT-STS:task_state': server.taskState,
    'OS-EXT-STS:vm_state': server.status.toLowerCase(),
    'os-extended-volumes:volumes_attached': server.volumeIds.map((id) => ({ id })),
    ...(isFaulty && { fault: { code: 500, message: server.fault ?? '', created: '' } }),
  };
}
