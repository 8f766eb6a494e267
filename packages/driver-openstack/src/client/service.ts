import { orAbort, type Json, type JsonObject, isMap } from '@nodepool/zk-protocol';
import { ConfigError, type EntryReader } from '@nodepool/core';
import { errorWithoutAnswer } from './classify.js';
import type { ServiceName, CloudSettings } from './clouds/types.js';
import { isAtMost, serviceRoot, versionDocumentUrl, type ServiceRoot } from './discovery.js';
import { isOpenStackError } from './errors.js';
import type { Lane } from './lanes.js';
import type { Session, SessionAnswer, StreamBody } from './session.js';
import type { CatalogService, Token } from './keystone.js';

/** A call relative to the root of a service. */
export interface ServiceCall {
  readonly lane: Lane;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the root, e.g. `/servers/detail`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: JsonObject | Json[] | undefined;
  readonly stream?: StreamBody | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Required version; default: the lowest. */
  readonly microversion?: string | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
}

/** Names of services in the microversion header. */
const MICROVERSION_NAMES: Readonly<Partial<Record<ServiceName, string>>> = { compute: 'compute', volume: 'volume' };
const MOST_PAGES = 10_000;

/** One service of a cloud. Discovers its endpoint and versions once. */
export class Service {
  readonly #session: Session;
  readonly #name: ServiceName;
  readonly #entries: Pick<EntryReader, 'readEach'>;
  #root: Promise<ServiceRoot | undefined> | undefined;

  constructor(session: Session, name: ServiceName, entries: Pick<EntryReader, 'readEach'>) {
    this.#session = session;
    this.#name = name;
    this.#entries = entries;
  }

  /** Whether the cloud has this service in the configured region and interface. */
  async exists(signal: AbortSignal): Promise<boolean> {
    if (this.#session.settings.endpoints[this.#name] !== undefined) return true;
    const token = await this.#session.token(signal);
    return endpointOf(this.#session.settings, token, this.#name) !== undefined;
  }

  /** Makes one call. */
  async call(call: ServiceCall): Promise<SessionAnswer> {
    const root = await this.#find(call.signal);
    return this.#session.call({
      service: this.#name,
      lane: call.lane,
      method: call.method,
      url: urlOf(root, call.path, call.query),
      path: call.path,
      body: call.body,
      stream: call.stream,
      headers: { ...call.headers, ...this.#microversion(root, call.microversion) },
      signal: call.signal,
      timeoutMs: call.timeoutMs,
    });
  }

  /**
   * All items of a list that can be read, page after page.
   * @param key - the key that holds them, e.g. `servers`
   * @param read - returns nothing for an item that cannot be read
   * @throws {OpenStackError} `unavailable`: an answer is not such a list, or its pages repeat
   */
  async list<T>(
    key: string,
    read: (item: JsonObject) => T | undefined,
    call: Omit<ServiceCall, 'lane' | 'method'>,
  ): Promise<T[]> {
    const items = await this.#items(key, call);
    const filters = Object.keys(call.query ?? {}).join();
    const list = { kind: key, part: filters === '' ? undefined : filters };
    return this.#entries.readEach(list, items, (item) => (isMap(item as Json) ? read(item as JsonObject) : undefined));
  }

  /**
   * One item; `undefined` if it does not exist.
   * @param key - the key that holds it; `undefined`: it is the answer
   * @throws {OpenStackError} `unavailable`: the answer cannot be read
   */
  async one<T>(
    key: string | undefined,
    read: (item: JsonObject) => T | undefined,
    call: Pick<ServiceCall, 'path' | 'signal'>,
  ): Promise<T | undefined> {
    try {
      const { body } = await this.call({ ...call, lane: 'read', method: 'GET' });
      const item = key !== undefined && isMap(body) ? body[key] : body;
      const found = isMap(item) ? read(item) : undefined;
      if (found === undefined) throw this.#broken(call.path, 'was answered with what cannot be read');
      return found;
    } catch (error) {
      if (isOpenStackError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  async #items(key: string, call: Omit<ServiceCall, 'lane' | 'method'>): Promise<Json[]> {
    const items: Json[] = [];
    const seen = new Set<string>();
    let query = call.query;
    for (let page = 0; page < MOST_PAGES; page++) {
      const { body, headers } = await this.call({ ...call, query, lane: 'list', method: 'GET' });
      const found = isMap(body) ? body[key] : undefined;
      if (!Array.isArray(found)) throw this.#broken(call.path, `was answered without "${key}"`);
      items.push(...found);
      const next = nextQuery(body as JsonObject, key, headers['link']);
      if (next === undefined || found.length === 0) return items;
      const marker = next['marker'] ?? JSON.stringify(next);
      if (seen.has(marker)) throw this.#broken(call.path, `leads from page to page in circles (marker ${marker})`);
      seen.add(marker);
      query = { ...call.query, ...next };
    }
    throw this.#broken(call.path, `has more than ${MOST_PAGES} pages`);
  }

  #broken(path: string, what: string): Error {
    return errorWithoutAnswer({ service: this.#name, method: 'GET', path }, what);
  }

  #microversion(root: ServiceRoot, version: string | undefined): Record<string, string> {
    const name = MICROVERSION_NAMES[this.#name];
    if (version === undefined || name === undefined) return {};
    if (root.maxMicroversion !== undefined && !isAtMost(version, root.maxMicroversion)) {
      throw new ConfigError(
        `cloud "${this.#session.settings.name}": its ${this.#name} service knows API versions up to ` +
          `${root.maxMicroversion}, but the call needs ${version}`,
      );
    }
    const header = { 'openstack-api-version': `${name} ${version}` };
    // Releases before Newton read a different header.
    return name === 'compute' ? { ...header, 'x-openstack-nova-api-version': version } : header;
  }

  async #find(signal: AbortSignal): Promise<ServiceRoot> {
    this.#root ??= this.#discover(this.#session.closed).catch((error: unknown) => {
      this.#root = undefined;
      throw error;
    });
    const root = await orAbort(this.#root, signal);
    if (root) return root;
    this.#root = undefined;
    throw new ConfigError(`cloud "${this.#session.settings.name}" has no ${this.#name} service in its catalogue`);
  }

  async #discover(signal: AbortSignal): Promise<ServiceRoot | undefined> {
    const token = await this.#session.token(signal);
    const endpoint = endpointOf(this.#session.settings, token, this.#name);
    if (endpoint === undefined) return undefined;
    return serviceRoot(this.#name, endpoint, await this.#versionDocument(endpoint, signal));
  }

  async #versionDocument(endpoint: string, signal: AbortSignal): Promise<Json | undefined> {
    const url = versionDocumentUrl(endpoint);
    try {
      const call = { service: this.#name, lane: 'read', method: 'GET', url, path: '/', signal } as const;
      return (await this.#session.call(call)).body;
    } catch (error) {
      // Some clouds hide it: use the usual path.
      if (!isOpenStackError(error) || error.status === undefined || error.status >= 500) throw error;
      return undefined;
    }
  }
}

function urlOf(root: ServiceRoot, path: string, query: ServiceCall['query'] = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.append(name, value);
  const text = params.toString();
  return `${root.url}${path}${text === '' ? '' : `?${text}`}`;
}

/**
 * Query of the next page, from `<key>_links` (Nova, Neutron, Cinder), `next` (Glance), or the header `Link`. Ignores the
 * host, which may be internal.
 */
function nextQuery(body: JsonObject, key: string, link: string | undefined): Record<string, string> | undefined {
  const links = body[`${key}_links`];
  const own = Array.isArray(links) ? links.filter(isMap).find((one) => one['rel'] === 'next') : undefined;
  const fromHeader = link === undefined ? undefined : /<([^>]+)>\s*;\s*rel="?next"?/.exec(link)?.[1];
  const href = own?.['href'] ?? body['next'] ?? fromHeader;
  if (typeof href !== 'string') return undefined;
  const at = href.indexOf('?');
  return at < 0 ? undefined : Object.fromEntries(new URLSearchParams(href.slice(at + 1)));
}

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
