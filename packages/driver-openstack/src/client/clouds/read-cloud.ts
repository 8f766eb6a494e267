import { ConfigError } from '@nodepool/core';
import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { readAuth } from './read-auth.js';
import { fillIn, overlay } from './merge.js';
import { unsupportedKeys, unsupportedTop } from './supported-keys.js';
import type { CloudFiles, CloudSettings, NetworkHint, ServiceName } from './types.js';
import { VENDOR_NAMES, vendorProfile } from './vendor-profiles.js';

/** A cloud, and unsupported keys of its entry. */
export interface ReadCloud {
  readonly settings: CloudSettings;
  /** Keys that are not supported. */
  readonly ignored: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 60_000;
const SERVICES: readonly ServiceName[] = ['identity', 'compute', 'image', 'network', 'volume'];
/** Other prefixes of settings of the volume service. */
const VOLUME_PREFIXES = ['volume', 'block_storage', 'volumev3', 'block_store'];

/**
 * The settings of one cloud in one region. The region overrides the entry, which overrides the profile.
 * @param region - `undefined`: the only or first one of the entry
 * @throws {ConfigError} an unknown cloud, profile or region, or a missing required key
 */
export function readCloud(files: CloudFiles, name: string, region?: string): ReadCloud {
  const entry = files.clouds[name];
  if (!isMap(entry)) throw new ConfigError(missingCloud(files, name));
  const { merged, regionName } = inRegion(withProfile(files, name, entry), name, region);
  const filled = fillIn(merged, { region_name: regionName }) as JsonObject;
  const top = isMap(files.top['client']) ? files.top['client'] : {};
  const cloud: JsonObject = { ...top, ...filled };
  const settings: CloudSettings = {
    name,
    region: regionName,
    auth: readAuth(cloud, name),
    interfaces: interfacesOf(cloud),
    verify: !isTrue(cloud['insecure']) && cloud['verify'] !== false,
    cacert: textOf(cloud['cacert']),
    cert: textOf(cloud['cert']),
    key: textOf(cloud['key']),
    timeoutMs: secondsOf(cloud['api_timeout']) ?? DEFAULT_TIMEOUT_MS,
    endpoints: perService(cloud, 'endpoint_override'),
    serviceTypes: perService(cloud, 'service_type'),
    serviceNames: perService(cloud, 'service_name'),
    imageFormat: textOf(cloud['image_format']) ?? 'qcow2',
    floatingIpSource: floatingIpSource(cloud['floating_ip_source']),
    hasNetwork: cloud['has_network'] !== false,
    isPrivate: isTrue(cloud['private']),
    forceIpv4: isTrue(cloud['force_ipv4']),
    useExternalNetwork: cloud['use_external_network'] !== false,
    useInternalNetwork: cloud['use_internal_network'] !== false,
    networks: readNetworks(cloud, name),
    serverListMs: serverListMs(files.top, cloud),
    metricsPrefix: metricsPrefix(cloud) ?? metricsPrefix(files.top),
  };
  return { settings, ignored: [...unsupportedKeys(cloud), ...unsupportedTop(files.top)] };
}

function missingCloud(files: CloudFiles, name: string): string {
  const known = Object.keys(files.clouds);
  if (files.files.length === 0) {
    return (
      `cloud "${name}" is not known: there is no clouds.yaml in the current folder, ~/.config/openstack or ` +
      `/etc/openstack, and OS_CLIENT_CONFIG_FILE names no file that can be read`
    );
  }
  const hint = known.length > 0 ? `it has ${known.join(', ')}` : 'it has no clouds';
  return `cloud "${name}" is not in ${files.files[0]}: ${hint}`;
}

function withProfile(files: CloudFiles, name: string, entry: JsonObject): JsonObject {
  const wanted = textOf(entry['profile']) ?? textOf(entry['cloud']);
  if (wanted === undefined || wanted === name) {
    // An entry may have the name of its vendor.
    return wanted === undefined ? entry : overlay(profileOf(files, wanted) ?? {}, entry);
  }
  const profile = profileOf(files, wanted);
  if (profile) return overlay(profile, entry);
  throw new ConfigError(
    `cloud "${name}" names the profile "${wanted}", which is neither in clouds-public.yaml nor one of ` +
      `${VENDOR_NAMES.join(', ')}: write auth_url and the rest into the entry itself`,
  );
}

function profileOf(files: CloudFiles, name: string): JsonObject | undefined {
  const known = files.publicClouds[name];
  return isMap(known) ? known : vendorProfile(name);
}

function inRegion(
  entry: JsonObject,
  name: string,
  wanted: string | undefined,
): { merged: JsonObject; regionName: string | undefined } {
  const { regions, ...rest } = entry;
  const listed = Array.isArray(regions) ? regions.flatMap((region) => readRegion(region)) : [];
  const asked = wanted ?? textOf(entry['region_name']);
  if (listed.length === 0) return { merged: rest, regionName: asked };
  const chosen = asked === undefined ? listed[0] : listed.find((region) => region.name === asked);
  if (!chosen) {
    throw new ConfigError(
      `region "${asked}" is not one of cloud "${name}": it has ${listed.map((region) => region.name).join(', ')}`,
    );
  }
  return { merged: overlay(rest, chosen.values), regionName: chosen.name };
}

function readRegion(region: Json): { name: string; values: JsonObject }[] {
  if (typeof region === 'string') return [{ name: region, values: {} }];
  if (!isMap(region) || typeof region['name'] !== 'string') return [];
  const values = region['values'];
  return [{ name: region['name'], values: isMap(values) ? values : {} }];
}

/** Interfaces in order of preference; old catalogues use `publicURL`. */
function interfacesOf(cloud: JsonObject): string[] {
  const given = cloud['interface'] ?? cloud['endpoint_type'];
  const list = Array.isArray(given) ? given : [given];
  const names = list.filter((item) => typeof item === 'string').map((item) => item.replace(/URL$/, ''));
  return names.length > 0 ? names : ['public'];
}

function perService(cloud: JsonObject, suffix: string): Partial<Record<ServiceName, string>> {
  const found: Partial<Record<ServiceName, string>> = {};
  for (const service of SERVICES) {
    const prefixes = service === 'volume' ? VOLUME_PREFIXES : [service];
    for (const prefix of prefixes) {
      const value = textOf(cloud[`${prefix}_${suffix}`]);
      if (value !== undefined) found[service] ??= value;
    }
  }
  return found;
}

/** Also the string `None`, which is not null in YAML. */
function floatingIpSource(value: Json | undefined): CloudSettings['floatingIpSource'] {
  if (value === undefined) return 'neutron';
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  return text === 'neutron' ? text : 'none';
}

function serverListMs(top: JsonObject, cloud: JsonObject): number | undefined {
  const cache = isMap(cloud['cache']) ? cloud['cache'] : top['cache'];
  if (!isMap(cache)) return undefined;
  const expiration = cache['expiration'];
  const ofServers = isMap(expiration) ? (expiration['server'] ?? expiration['servers']) : undefined;
  return secondsOf(ofServers);
}

function metricsPrefix({ metrics }: JsonObject): string | undefined {
  const statsd = isMap(metrics) ? metrics['statsd'] : undefined;
  return isMap(statsd) ? textOf(statsd['prefix']) : undefined;
}

function secondsOf(value: Json | undefined): number | undefined {
  const seconds = typeof value === 'string' ? Number(value) : value;
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isTrue(value: Json | undefined): boolean {
  return value === true || (typeof value === 'string' && /^(true|yes|on|1)$/i.test(value));
}

const NOTHING = {
  routesIpv4Externally: undefined,
  routesIpv6Externally: undefined,
  natDestination: false,
  natSource: false,
  defaultInterface: false,
};

/**
 * Network settings of an entry: the list `networks`, and the older single keys.
 * @throws {ConfigError} two networks are the NAT source, the NAT destination, or the default interface
 */
function readNetworks(cloud: JsonObject, name: string): NetworkHint[] {
  const listed = Array.isArray(cloud['networks']) ? cloud['networks'].filter(isMap) : [];
  const hints = [...listed.flatMap(readHint), ...olderHints(cloud)];
  for (const [key, has] of ONLY_ONE) {
    const found = new Set(hints.filter(has).map((hint) => hint.name));
    if (found.size > 1) {
      throw new ConfigError(`cloud "${name}" has ${key} in several networks (${[...found].join(', ')}): keep one`);
    }
  }
  return hints;
}

const ONLY_ONE: readonly (readonly [string, (hint: NetworkHint) => boolean])[] = [
  ['nat_destination', (hint) => hint.natDestination],
  ['nat_source', (hint) => hint.natSource],
  ['default_interface', (hint) => hint.defaultInterface],
];

function readHint(entry: JsonObject): NetworkHint[] {
  const name = entry['name'];
  if (typeof name !== 'string') return [];
  const external = booleanOf(entry['routes_externally']);
  return [
    {
      name,
      routesIpv4Externally: booleanOf(entry['routes_ipv4_externally']) ?? external,
      routesIpv6Externally: booleanOf(entry['routes_ipv6_externally']) ?? external,
      natDestination: entry['nat_destination'] === true,
      natSource: entry['nat_source'] === true,
      defaultInterface: entry['default_interface'] === true,
    },
  ];
}

/** Older keys that name one network for one purpose. */
function olderHints(cloud: JsonObject): NetworkHint[] {
  const hints: NetworkHint[] = [];
  const add = (key: string, facts: Partial<NetworkHint>) => {
    const name = cloud[key];
    if (typeof name === 'string' && name !== '') hints.push({ ...NOTHING, ...facts, name });
  };
  add('external_network', { routesIpv4Externally: true, routesIpv6Externally: true });
  add('internal_network', { routesIpv4Externally: false, routesIpv6Externally: false });
  add('nat_destination', { natDestination: true });
  add('nat_source', { natSource: true });
  add('default_interface', { defaultInterface: true });
  add('default_network', { defaultInterface: true });
  add('routes_externally', { routesIpv4Externally: true, routesIpv6Externally: true });
  return hints;
}

function booleanOf(value: Json | undefined): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
