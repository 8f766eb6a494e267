import { ConfigError } from '@nodepool/core';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { isObject } from './merge.js';
import type { NetworkHint } from './types.js';

const NOTHING = {
  routesIpv4Externally: undefined,
  routesIpv6Externally: undefined,
  natDestination: false,
  natSource: false,
  defaultInterface: false,
};

/**
 * What an entry says about networks: the list `networks`, and the older single keys.
 * @throws {ConfigError} two networks are the NAT source, the NAT destination, or the default interface
 */
export function readNetworks(cloud: JsonObject, name: string): NetworkHint[] {
  const listed = Array.isArray(cloud['networks']) ? cloud['networks'].filter(isObject) : [];
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

/** Keys that name one network for one purpose. */
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
