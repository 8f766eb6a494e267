import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { ServiceName } from './clouds/types.js';

/** Root URL and API versions of a service. */
export interface ServiceRoot {
  /** Without a trailing slash. */
  readonly url: string;
  readonly minMicroversion: string | undefined;
  readonly maxMicroversion: string | undefined;
}

/** Supported major versions and their usual path. */
const WANTED: Readonly<Record<ServiceName, { readonly ids: readonly RegExp[]; readonly path: string }>> = {
  identity: { ids: [/^v3/], path: '/v3' },
  compute: { ids: [/^v2\.1/, /^v2/], path: '/v2.1' },
  image: { ids: [/^v2/], path: '/v2' },
  network: { ids: [/^v2/], path: '/v2.0' },
  volume: { ids: [/^v3/], path: '/v3' },
};

const VERSION_PART = /\/v\d+(\.\d+)?(?=\/|$)/;

/** URL of the version document. The endpoint may have a project id after its version. */
export function versionDocumentUrl(endpoint: string): string {
  const { origin, pathname } = new URL(endpoint);
  const match = VERSION_PART.exec(pathname);
  return `${origin}${match ? pathname.slice(0, match.index + match[0].length) : pathname.replace(/\/+$/, '')}/`;
}

/**
 * Reads a version document with one version or a list. Uses only paths of it: behind a proxy its hosts are often internal.
 * @param document - `undefined`: not available; the usual path is assumed
 */
export function serviceRoot(service: ServiceName, endpoint: string, document: Json | undefined): ServiceRoot {
  const hasVersion = VERSION_PART.test(new URL(endpoint).pathname);
  const chosen = choose(service, document);
  return {
    url: hasVersion ? endpoint : `${endpoint}${pathOf(chosen, service)}`,
    minMicroversion: textOf(chosen?.['min_version']),
    maxMicroversion: textOf(chosen?.['version']) ?? textOf(chosen?.['max_version']),
  };
}

function choose(service: ServiceName, document: Json | undefined): JsonObject | undefined {
  if (!isMap(document)) return undefined;
  if (isMap(document['version'])) return document['version'];
  const values = isMap(document['versions']) ? document['versions']['values'] : document['versions'];
  const versions = Array.isArray(values) ? values.filter(isMap) : [];
  for (const wanted of WANTED[service].ids) {
    const found = versions.filter((version) => wanted.test(textOf(version['id']) ?? ''));
    const current = found.find((version) => /current|stable/i.test(textOf(version['status']) ?? ''));
    if (found.length > 0) return current ?? found[0];
  }
  return undefined;
}

/** Glance has a version for each change, all at one path. */
function pathOf(version: JsonObject | undefined, service: ServiceName): string {
  const links = version && Array.isArray(version['links']) ? version['links'].filter(isMap) : [];
  const href = links.map((link) => textOf(link['href'])).find((link) => link !== undefined && URL.canParse(link));
  const path = href === undefined ? undefined : VERSION_PART.exec(new URL(href).pathname)?.[0];
  return path ?? WANTED[service].path;
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whether `version` is at most `max`, e.g. `2.37` and `2.93`. */
export function isAtMost(version: string, max: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [maxMajor = 0, maxMinor = 0] = max.split('.').map(Number);
  return major < maxMajor || (major === maxMajor && minor <= maxMinor);
}
