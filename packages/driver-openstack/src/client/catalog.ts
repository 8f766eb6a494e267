import { ConfigError } from '@nodepool/core';
import type { CloudSettings, ServiceName } from './clouds/types.js';
import type { CatalogService, Token } from './keystone.js';

/** Types of a service in the catalogue, preferred first. */
const TYPES: Readonly<Record<ServiceName, readonly string[]>> = {
  identity: ['identity'],
  compute: ['compute'],
  image: ['image'],
  network: ['network'],
  volume: ['block-storage', 'volumev3', 'block-store', 'volume', 'volumev2'],
};

/**
 * Endpoint of a service: the configured override, else from the catalogue, by region and interface.
 * @returns `undefined`: the catalogue lacks the service
 * @throws {ConfigError} the service is not available in this region or with this interface
 */
export function endpointOf(
  settings: CloudSettings,
  token: Token | undefined,
  service: ServiceName,
): string | undefined {
  const override = settings.endpoints[service];
  if (override !== undefined) return withoutSlash(fillProject(override, token));
  const candidates = servicesOf(settings, token?.catalog ?? [], service);
  const endpoints = candidates.flatMap((candidate) => candidate.endpoints);
  if (endpoints.length === 0) return undefined;
  const here = endpoints.filter(({ region }) => settings.region === undefined || region === settings.region);
  for (const wanted of settings.interfaces) {
    const found = here.find((endpoint) => endpoint.interface === wanted || endpoint.interface === `${wanted}URL`);
    if (found) return withoutSlash(found.url);
  }
  const regions = [...new Set(endpoints.flatMap(({ region }) => region ?? []))].join(', ');
  const interfaces = [...new Set(here.map((endpoint) => endpoint.interface))].join(', ') || 'none';
  throw new ConfigError(
    `cloud "${settings.name}": the catalogue has no ${service} endpoint in region "${settings.region ?? 'any'}" with ` +
      `interface ${settings.interfaces.join(' or ')}: its regions are ${regions}, its interfaces there ${interfaces}`,
  );
}

function servicesOf(
  settings: CloudSettings,
  catalog: readonly CatalogService[],
  service: ServiceName,
): CatalogService[] {
  const name = settings.serviceNames[service];
  const type = settings.serviceTypes[service];
  const named = name === undefined ? catalog : catalog.filter((one) => one.name === name);
  for (const wanted of type === undefined ? TYPES[service] : [type]) {
    const found = named.filter((one) => one.type === wanted && one.endpoints.length > 0);
    if (found.length > 0) return found;
  }
  return [];
}

function fillProject(url: string, token: Token | undefined): string {
  return url.replaceAll(/[%$]\((project|tenant)_id\)s?|\{(project|tenant)_id\}/g, token?.projectId ?? '');
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
