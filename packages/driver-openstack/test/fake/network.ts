import type { JsonObject } from '@nodepool/zk-protocol';
import type { FakeCloudState, FakeFloatingIp, FakePort } from './state.js';
import { object, page, Refusal, text, type FakeAnswer, type FakeRequest } from './http.js';

/** Neutron. */
export function network(state: FakeCloudState, request: FakeRequest): FakeAnswer {
  const { method, path } = request;
  if (path === '/' || path === '') {
    const links = [{ rel: 'self', href: `${request.root}/v2.0/` }];
    return { status: 200, body: { versions: [{ id: 'v2.0', status: 'CURRENT', links }] } };
  }
  const match = /^\/v2\.0\/([a-z-]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path);
  const [, kind = '', id] = match ?? [];
  if (kind === 'networks') return list(state, request, 'networks', state.networks);
  if (kind === 'subnets') return list(state, request, 'subnets', state.subnets);
  if (kind === 'security-groups') return list(state, request, 'security_groups', state.securityGroups);
  if (kind === 'quotas') return quota(state);
  if (kind === 'ports') return ports(state, request, id);
  if (kind === 'floatingips') return floatingIps(state, request, id);
  throw new Refusal(404, `The resource could not be found: ${method} ${path}`);
}

function list(state: FakeCloudState, request: FakeRequest, key: string, items: readonly JsonObject[]): FakeAnswer {
  const filters = [...request.query].filter(([name]) => name !== 'limit' && name !== 'marker');
  const shown = items.filter(
    (item) => state.knobs.ignoresFilters || filters.every(([name, value]) => item[name] === value),
  );
  const { items: found, next } = page(shown, request.query, state.knobs.pageSize);
  const links =
    next === undefined ? {} : { [`${key}_links`]: [{ rel: 'next', href: `${request.root}${request.path}?${next}` }] };
  return { status: 200, body: { [key]: found, ...links } };
}

function quota(state: FakeCloudState): FakeAnswer {
  const of = (limit: number, used: number) => ({ limit, used, reserved: 0 });
  const port = of(state.quota.port, state.ports.size);
  return { status: 200, body: { quota: { port, floatingip: of(state.quota.floatingip, state.floatingIps.size) } } };
}

function ports(state: FakeCloudState, request: FakeRequest, id: string | undefined): FakeAnswer {
  if (id === undefined)
    return list(state, request, 'ports', [...state.ports.values(), ...state.routerPorts].map(showPort));
  if (!state.ports.has(id)) throw new Refusal(404, `Port ${id} could not be found.`);
  if (request.method === 'DELETE') state.ports.delete(id);
  return { status: 204 };
}

function showPort(port: FakePort): JsonObject {
  return {
    id: port.id,
    name: '',
    network_id: port.networkId,
    status: port.status,
    device_id: port.deviceId,
    device_owner: port.deviceOwner,
    mac_address: port.mac,
    'binding:vnic_type': port.vnicType,
    tags: [...port.tags],
    created_at: new Date(port.createdMs).toISOString(),
    fixed_ips: port.addresses.map((ip_address) => ({ ip_address, subnet_id: `sub-${port.networkId.slice(4)}` })),
  };
}

function floatingIps(state: FakeCloudState, request: FakeRequest, id: string | undefined): FakeAnswer {
  const { method } = request;
  const order = object(request.body['floatingip']);
  if (id === undefined && method === 'GET') {
    return list(state, request, 'floatingips', [...state.floatingIps.values()].map(showFloatingIp));
  }
  if (id === undefined) return createFloatingIp(state, order);
  const ip = state.floatingIps.get(id);
  if (!ip) throw new Refusal(404, `Floating IP ${id} could not be found`);
  if (method === 'GET') return { status: 200, body: { floatingip: showFloatingIp(ip) } };
  if (method === 'DELETE') {
    state.floatingIps.delete(id);
    return { status: 204 };
  }
  const wanted = /revision_number=(\d+)/.exec(request.headers['if-match'] ?? '')?.[1];
  if (wanted !== undefined && Number(wanted) !== ip.revision) {
    throw new Refusal(412, `RevisionNumberConstraintFailed: expected ${wanted}, is ${ip.revision}`);
  }
  if (typeof order['description'] === 'string') ip.description = order['description'];
  if ('port_id' in order) attach(state, ip, text(order['port_id']) || null, text(order['fixed_ip_address']) || null);
  return { status: 200, body: { floatingip: showFloatingIp(ip) } };
}

function createFloatingIp(state: FakeCloudState, order: JsonObject): FakeAnswer {
  if (state.quota.floatingip >= 0 && state.floatingIps.size >= state.quota.floatingip) {
    throw new Refusal(409, "Quota exceeded for resources: ['floatingip'].");
  }
  const ip = state.addFloatingIp({
    networkId: text(order['floating_network_id']),
    description: text(order['description']),
  });
  attach(state, ip, text(order['port_id']) || null, text(order['fixed_ip_address']) || null);
  return { status: 201, body: { floatingip: showFloatingIp(ip) } };
}

function attach(state: FakeCloudState, ip: FakeFloatingIp, portId: string | null, fixed: string | null): void {
  const port = portId === null ? undefined : state.ports.get(portId);
  if (portId !== null && !port) throw new Refusal(404, `Port ${portId} could not be found.`);
  if (port && !state.routerPorts.some(({ networkId }) => networkId === port.networkId)) {
    const subnet = `sub-${port.networkId.slice(4)}`;
    const why = `External network ${ip.networkId} is not reachable from subnet ${subnet}.`;
    throw new Refusal(404, `${why} Therefore, cannot associate Port ${port.id} with a Floating IP.`);
  }
  ip.portId = portId;
  ip.fixedAddress = portId === null ? null : (fixed ?? port?.addresses[0] ?? null);
  ip.status = portId === null ? 'DOWN' : 'ACTIVE';
  ip.revision++;
}

function showFloatingIp(ip: FakeFloatingIp): JsonObject {
  return {
    id: ip.id,
    floating_ip_address: ip.address,
    floating_network_id: ip.networkId,
    fixed_ip_address: ip.fixedAddress,
    port_id: ip.portId,
    status: ip.status,
    description: ip.description,
    revision_number: ip.revision,
    router_id: null,
    tags: [],
  };
}
