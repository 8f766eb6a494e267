import { BlockList, isIPv4 } from 'node:net';
import type { CloudSettings, NetworkHint } from './client/clouds/types.js';
import type { Server } from './client/compute.js';
import type { Network, Port, Subnet } from './client/network.js';

/** Roles of the networks of a cloud. Networks are given by name or id. */
export interface NetworkView {
  readonly networks: readonly Network[];
  /** Networks whose addresses are reachable from outside. */
  readonly externalV4: ReadonlySet<string>;
  readonly externalV6: ReadonlySet<string>;
  /** Networks whose addresses are reachable only from inside. */
  readonly internalV4: ReadonlySet<string>;
  /** Network of the preferred address of a server. */
  readonly defaultInterface: string | undefined;
  /** Id of the network that floating IPs lead to, if configured. */
  readonly natDestination: string | undefined;
  /** By network id: whether its IPv4 addresses are global. Networks without IPv4, or without visible subnets, are missing. */
  readonly globalV4: ReadonlyMap<string, boolean>;
  /** Ids of networks that may have a router: not external, and with a gateway. */
  readonly withGateway: ReadonlySet<string>;
  /** Id of the network that provides floating IPs. */
  readonly floatingNetwork: string | undefined;
}

/** View of a cloud whose network service is missing or forbidden. */
export const NO_NETWORKS: NetworkView = {
  networks: [],
  externalV4: new Set(),
  externalV6: new Set(),
  internalV4: new Set(),
  defaultInterface: undefined,
  natDestination: undefined,
  globalV4: new Map(),
  withGateway: new Set(),
  floatingNetwork: undefined,
};

/** Determines the roles of networks; the configuration takes precedence over their attributes. */
export function networkView(
  networks: readonly Network[],
  subnets: readonly Subnet[],
  hints: readonly NetworkHint[],
): NetworkView {
  const externalV4 = new Set<string>();
  const externalV6 = new Set<string>();
  const internalV4 = new Set<string>();
  for (const network of networks) {
    const hint = hintFor(network, hints);
    const looksExternal = network.isExternal || network.hasPhysicalNetwork;
    const isV4External = hint?.routesIpv4Externally ?? looksExternal;
    const isV6External = hint?.routesIpv6Externally ?? looksExternal;
    addBoth(isV4External ? externalV4 : internalV4, network);
    if (isV6External) addBoth(externalV6, network);
  }
  const hinted = (has: (hint: NetworkHint) => boolean): Network | undefined => {
    const wanted = hints.find(has);
    return wanted && networks.find((network) => network.name === wanted.name || network.id === wanted.name);
  };
  const gateways = new Set(subnets.filter((subnet) => subnet.hasGateway).map(({ networkId }) => networkId));
  const inside = networks.filter(({ id, isExternal }) => !isExternal && gateways.has(id));
  return {
    networks,
    externalV4,
    externalV6,
    internalV4,
    defaultInterface: hints.find((hint) => hint.defaultInterface)?.name,
    natDestination: hinted((hint) => hint.natDestination)?.id,
    globalV4: new Map(
      subnets
        .filter(({ version }) => version === 4)
        .map(({ networkId, cidr }) => [networkId, isGlobal(cidr.split('/')[0] ?? '')]),
    ),
    withGateway: new Set(inside.map(({ id }) => id)),
    floatingNetwork: (hinted((hint) => hint.natSource) ?? networks.find(({ isExternal }) => isExternal))?.id,
  };
}

function hintFor(network: Network, hints: readonly NetworkHint[]): NetworkHint | undefined {
  return hints.find(({ name }) => name === network.name || name === network.id);
}

function addBoth(to: Set<string>, { id, name }: Network): void {
  to.add(id);
  to.add(name);
}

/** Addresses of a server; `undefined`: none of this kind. */
export interface ChosenAddresses {
  readonly publicIpv4: string | undefined;
  readonly publicIpv6: string | undefined;
  readonly privateIpv4: string | undefined;
  /** The address that the launcher and Zuul connect to. */
  readonly interfaceIp: string | undefined;
}

/**
 * Chooses among the addresses of a server: for the interface that of the default network, else with `private` the
 * private one, else a public one, IPv6 before IPv4 where this computer has IPv6.
 * @param hasIpv6 - this computer can reach IPv6 addresses
 */
export function chooseAddresses(
  server: Pick<Server, 'addresses' | 'accessIpv4' | 'accessIpv6'>,
  view: NetworkView,
  settings: CloudSettings,
  hasIpv6: boolean,
): ChosenAddresses {
  const publicIpv4 = settings.useExternalNetwork ? publicV4(server, view) : undefined;
  const publicIpv6 = settings.forceIpv4 ? undefined : publicV6(server, view);
  const privateIpv4 = settings.useInternalNetwork ? (privateV4(server, view) ?? publicIpv4) : publicIpv4;
  return {
    publicIpv4,
    publicIpv6,
    privateIpv4,
    interfaceIp: interfaceAddress(server, view, settings, hasIpv6, { publicIpv4, publicIpv6, privateIpv4 }),
  };
}

function interfaceAddress(
  { addresses }: Pick<Server, 'addresses'>,
  view: NetworkView,
  { isPrivate, forceIpv4 }: CloudSettings,
  hasIpv6: boolean,
  known: Omit<ChosenAddresses, 'interfaceIp'>,
): string | undefined {
  if (view.defaultInterface !== undefined) {
    const there = addresses.filter(({ network }) => network === nameOf(view, view.defaultInterface));
    const ipv6 = hasIpv6 && !forceIpv4 ? there.find(({ version }) => version === 6) : undefined;
    const chosen = ipv6 ?? there.find(({ version }) => version === 4) ?? there[0];
    if (chosen) return chosen.address;
  }
  if (isPrivate && known.privateIpv4 !== undefined) return known.privateIpv4;
  if (hasIpv6 && !forceIpv4 && known.publicIpv6 !== undefined) return known.publicIpv6;
  return known.publicIpv4 ?? known.privateIpv4 ?? known.publicIpv6;
}

/** Servers show networks by name. */
function nameOf(view: NetworkView, idOrName: string | undefined): string | undefined {
  return view.networks.find(({ id }) => id === idOrName)?.name ?? idOrName;
}

function publicV4(server: Pick<Server, 'addresses' | 'accessIpv4'>, view: NetworkView): string | undefined {
  if (server.accessIpv4 !== undefined) return server.accessIpv4;
  const ours = server.addresses.filter(({ version }) => version === 4);
  return (
    ours.find(({ network, type }) => type !== 'floating' && view.externalV4.has(network)) ??
    ours.find(({ type }) => type === 'floating') ??
    ours.find(({ network }) => network === 'public') ??
    // also in networks that look internal: projects do not see what a provider network is a piece of
    ours.find(({ address }) => isGlobal(address))
  )?.address;
}

function publicV6(
  { addresses, accessIpv6 }: Pick<Server, 'addresses' | 'accessIpv6'>,
  view: NetworkView,
): string | undefined {
  if (accessIpv6 !== undefined) return accessIpv6;
  const ours = addresses.filter(({ version }) => version === 6);
  return (ours.find(({ network }) => view.externalV6.has(network)) ?? ours[0])?.address;
}

function privateV4({ addresses }: Pick<Server, 'addresses'>, view: NetworkView): string | undefined {
  const fixed = addresses.filter(({ version, type }) => version === 4 && type !== 'floating');
  const mac = addresses.find(({ type }) => type === 'floating')?.mac;
  const inside = fixed.filter(({ network }) => view.internalV4.has(network));
  return (
    inside.find((entry) => mac !== undefined && entry.mac === mac) ??
    inside[0] ??
    fixed.find(({ network }) => network === 'private')
  )?.address;
}

/** As in Python's `ipaddress.is_private`, by which the original judges: 100.64.0.0/10 counts as public. */
const NOT_GLOBAL = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  NOT_GLOBAL.addSubnet(net, bits, 'ipv4');
}

function isGlobal(address: string): boolean {
  return isIPv4(address) && !NOT_GLOBAL.check(address, 'ipv4');
}

/**
 * Whether a server needs a floating IP to be reached: it has no public address, but a fixed one.
 */
export function needsFloatingIp(
  server: Pick<Server, 'addresses' | 'accessIpv4'>,
  view: NetworkView,
  settings: CloudSettings,
): boolean {
  if (settings.floatingIpSource !== 'neutron' || settings.isPrivate || view.floatingNetwork === undefined) return false;
  if (publicV4(server, view) !== undefined) return false;
  return server.addresses.some(({ version, type }) => version === 4 && type !== 'floating');
}

/**
 * Whether a server in these networks will need a floating IP, as far as that is known before it is made.
 * @param ids - `auto`: Nova chooses among all networks, so that all must be alike
 */
export function willNeedFloatingIp(
  ids: readonly string[] | 'auto',
  view: NetworkView,
  { floatingIpSource, isPrivate }: CloudSettings,
): boolean {
  if (floatingIpSource !== 'neutron' || isPrivate || view.floatingNetwork === undefined) return false;
  const isPublic = ({ id, name }: Network) =>
    view.externalV4.has(id) || name === 'public' || view.globalV4.get(id) === true;
  const isInside = (network: Network) => view.globalV4.has(network.id) && !isPublic(network);
  if (ids !== 'auto') {
    const chosen = view.networks.filter(({ id }) => ids.includes(id));
    return chosen.some(isInside) && !chosen.some(isPublic);
  }
  const all = view.networks.filter(({ isExternal }) => !isExternal);
  return all.length > 0 && all.every(isInside);
}

/** A port of a server with the address that a floating IP is to lead to. */
export interface PortTarget {
  readonly port: Port;
  readonly address: string;
}

const ROUTER_INTERFACE = /^network:(router_interface|ha_router_replicated_interface)/;

/**
 * The port of a server that a floating IP is to lead to: the only one; of several one in the NAT destination that the cloud's
 * entry names, or else one behind a router that we can see, or in a network with a gateway; of these the newest.
 * @param ports - all of the project
 */
export function portForFloatingIp(serverId: string, ports: readonly Port[], view: NetworkView): PortTarget | undefined {
  const targets = ports.filter(({ deviceId }) => deviceId === serverId).flatMap((port) => targetAt(port) ?? []);
  if (targets.length <= 1) return targets[0];
  targets.sort((a, b) => (a.port.createdAt < b.port.createdAt ? 1 : -1));
  if (view.natDestination !== undefined) return targets.find(({ port }) => port.networkId === view.natDestination);
  // networks come in any order, so the first with a gateway may be one that no server of ours is in
  const interfaces = ports.filter(({ deviceOwner }) => ROUTER_INTERFACE.test(deviceOwner));
  const routed = new Set(interfaces.map(({ networkId }) => networkId));
  return (
    targets.find(({ port }) => routed.has(port.networkId)) ??
    targets.find(({ port }) => view.withGateway.has(port.networkId)) ??
    targets[0]
  );
}

function targetAt(port: Port): PortTarget | undefined {
  const address = port.fixedIps.find((ip) => isIPv4(ip));
  return address === undefined ? undefined : { port, address };
}
