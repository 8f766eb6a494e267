import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { CloudAuth } from './clouds/types.js';

/** A token with its catalogue. */
export interface Token {
  readonly id: string;
  readonly issuedMs: number;
  /** `Infinity`: it does not expire. */
  readonly expiresMs: number;
  readonly projectId: string | undefined;
  readonly catalog: readonly CatalogService[];
}

/** A service in the catalogue. */
export interface CatalogService {
  readonly type: string;
  readonly name: string;
  readonly endpoints: readonly CatalogEndpoint[];
}

/** Endpoint of a service in one region. */
export interface CatalogEndpoint {
  /** `public`, `internal` or `admin`. */
  readonly interface: string;
  readonly region: string | undefined;
  readonly url: string;
}

/** The body of `POST /auth/tokens`. An application credential implies its scope. */
export function tokenRequest(auth: CloudAuth): JsonObject {
  if (auth.method === 'application-credential') {
    const { applicationCredentialId: id, applicationCredentialName: name, applicationCredentialSecret: secret } = auth;
    const credential: JsonObject = id === undefined ? { name: name ?? '', user: user(auth) } : { id };
    const identity = {
      methods: ['application_credential'],
      application_credential: { ...credential, secret: secret ?? '' },
    };
    return { auth: { identity } };
  }
  const scope = scopeOf(auth);
  const identity: JsonObject =
    auth.method === 'token'
      ? { methods: ['token'], token: { id: auth.token ?? '' } }
      : {
          methods: auth.passcode === undefined ? ['password'] : ['password', 'totp'],
          password: { user: { ...user(auth), password: auth.password ?? '' } },
          ...(auth.passcode !== undefined && { totp: { user: { ...user(auth), passcode: auth.passcode } } }),
        };
  return { auth: { identity, ...(scope && { scope }) } };
}

function user(auth: CloudAuth): JsonObject {
  if (auth.userId !== undefined) return { id: auth.userId };
  return { name: auth.username ?? '', domain: domain(auth.userDomainId, auth.userDomainName) };
}

function scopeOf(auth: CloudAuth): JsonObject | undefined {
  if (auth.trustId !== undefined) return { 'OS-TRUST:trust': { id: auth.trustId } };
  if (auth.projectId !== undefined) return { project: { id: auth.projectId } };
  if (auth.projectName !== undefined) {
    return { project: { name: auth.projectName, domain: domain(auth.projectDomainId, auth.projectDomainName) } };
  }
  if (auth.systemScope !== undefined) return { system: { all: true } };
  if (auth.domainId !== undefined || auth.domainName !== undefined) {
    return { domain: domain(auth.domainId, auth.domainName) };
  }
  return undefined;
}

function domain(id: string | undefined, name: string | undefined): JsonObject {
  return id === undefined ? { name: name ?? 'Default' } : { id };
}

/**
 * Reads the answer to {@link tokenRequest}.
 * @returns `undefined`: not an answer of Keystone
 */
export function readToken(id: string | undefined, body: Json, nowMs: number): Token | undefined {
  const token = isMap(body) ? body['token'] : undefined;
  if (id === undefined || !isMap(token)) return undefined;
  const expires = token['expires_at'];
  const expiresMs = typeof expires === 'string' ? Date.parse(expires) : Infinity;
  const issued = typeof token['issued_at'] === 'string' ? Date.parse(token['issued_at']) : Number.NaN;
  const project = token['project'];
  const projectId = isMap(project) && typeof project['id'] === 'string' ? project['id'] : undefined;
  const catalog = Array.isArray(token['catalog']) ? token['catalog'].filter(isMap).map(readService) : [];
  // Use only the lifetime, as the clock of Keystone may differ.
  const lifeMs = Number.isNaN(issued) ? expiresMs - nowMs : expiresMs - issued;
  return { id, issuedMs: nowMs, expiresMs: nowMs + (Number.isNaN(lifeMs) ? Infinity : lifeMs), projectId, catalog };
}

function readService(service: JsonObject): CatalogService {
  const endpoints = Array.isArray(service['endpoints']) ? service['endpoints'].filter(isMap) : [];
  return {
    type: text(service['type']),
    name: text(service['name']),
    endpoints: endpoints.map((endpoint) => ({
      interface: text(endpoint['interface']),
      region: text(endpoint['region_id']) || text(endpoint['region']) || undefined,
      url: text(endpoint['url']),
    })),
  };
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
