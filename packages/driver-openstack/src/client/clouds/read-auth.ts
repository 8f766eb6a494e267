import { ConfigError } from '@nodepool/core';
import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { CloudAuth } from './types.js';

const METHODS: Readonly<Record<string, CloudAuth['method']>> = {
  password: 'password',
  v3password: 'password',
  v3totp: 'password',
  v3multifactor: 'password',
  token: 'token',
  v3token: 'token',
  admin_token: 'token',
  v3applicationcredential: 'application-credential',
  v3_application_credential: 'application-credential',
  application_credential: 'application-credential',
  none: 'none',
};

/** Names of each value, in `auth` or beside it. */
const SPELLINGS: Readonly<Record<Exclude<keyof CloudAuth, 'method' | 'authUrl'>, readonly string[]>> = {
  userId: ['user_id'],
  username: ['username', 'user_name', 'user'],
  password: ['password'],
  userDomainId: ['user_domain_id'],
  userDomainName: ['user_domain_name', 'user_domain'],
  projectId: ['project_id', 'tenant_id'],
  projectName: ['project_name', 'tenant_name', 'project', 'tenant'],
  projectDomainId: ['project_domain_id'],
  projectDomainName: ['project_domain_name', 'project_domain'],
  domainId: ['domain_id'],
  domainName: ['domain_name'],
  systemScope: ['system_scope'],
  trustId: ['trust_id'],
  token: ['token', 'auth_token'],
  applicationCredentialId: ['application_credential_id'],
  applicationCredentialName: ['application_credential_name'],
  applicationCredentialSecret: ['application_credential_secret'],
  passcode: ['passcode'],
};

/**
 * Reads credentials. `default_domain_*` replace missing domains of user and project; a name without any domain is in the
 * default domain.
 * @throws {ConfigError} an unknown `auth_type`, version 2 of Keystone, or no `auth_url`
 */
export function readAuth(cloud: JsonObject, name: string): CloudAuth {
  const auth = isMap(cloud['auth']) ? cloud['auth'] : {};
  const find = (spellings: readonly string[]): string | undefined => {
    for (const key of spellings) {
      const value = textOf(auth[key]) ?? textOf(cloud[key]);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const values = Object.fromEntries(
    Object.entries(SPELLINGS).map(([field, spellings]) => [field, find(spellings)]),
  ) as Partial<CloudAuth>;
  const method = methodOf(cloud, values, name);
  const authUrl = find(['auth_url', 'identity_endpoint_override']);
  const version = textOf(cloud['identity_api_version']) ?? '3';
  if (/^2/.test(version) || /\/v2\.0\/?$/.test(authUrl ?? '')) {
    throw new ConfigError(
      `cloud "${name}" asks for version 2 of the identity API, which no supported release of OpenStack has: ` +
        'set identity_api_version: 3 and an auth_url that ends in /v3',
    );
  }
  if (authUrl === undefined && method !== 'none') {
    throw new ConfigError(`cloud "${name}" has no auth_url: write it below "auth", or name a "profile" that has one`);
  }
  return withDefaultDomains(
    { ...values, method, authUrl },
    find(['default_domain_id']),
    find(['default_domain_name', 'default_domain']),
  );
}

function methodOf(cloud: JsonObject, values: Partial<CloudAuth>, name: string): CloudAuth['method'] {
  const given = textOf(cloud['auth_type']) ?? textOf(cloud['auth_plugin']);
  if (given === undefined || given === 'password') {
    // The secret implies an application credential.
    if (values.applicationCredentialSecret !== undefined && values.password === undefined) {
      return 'application-credential';
    }
    return values.token !== undefined && values.password === undefined ? 'token' : 'password';
  }
  const method = METHODS[given.replaceAll('-', '_')] ?? METHODS[given];
  if (method !== undefined) return method;
  throw new ConfigError(
    `cloud "${name}" has auth_type "${given}", which is not supported: use password, token, v3applicationcredential or none`,
  );
}

function withDefaultDomains(auth: CloudAuth, id: string | undefined, name: string | undefined): CloudAuth {
  const domain = id === undefined && name === undefined ? 'default' : id;
  const needsUserDomain =
    auth.userId === undefined && auth.userDomainId === undefined && auth.userDomainName === undefined;
  const needsProjectDomain =
    auth.projectId === undefined && auth.projectDomainId === undefined && auth.projectDomainName === undefined;
  const nameOnly = domain === undefined ? name : undefined;
  return {
    ...auth,
    ...(needsUserDomain && { userDomainId: domain, userDomainName: nameOnly }),
    ...(needsProjectDomain && { projectDomainId: domain, projectDomainName: nameOnly }),
  };
}

function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
