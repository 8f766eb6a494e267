import { ConfigError } from '@nodepool/core';
import type { ApiServer } from './api.js';
import type { IncusClient } from './client.js';
import { UntrustedError } from './errors.js';
import type { ConnectionConfig } from './transport.js';
import { readTrustToken } from './trust-token.js';

/** What a daemon says about itself. */
export interface Server {
  /** `Incus` or `LXD`. */
  readonly product: string;
  readonly version: string;
  readonly isClustered: boolean;
  /** Creates and starts an instance in one operation. */
  readonly startsOnCreation: boolean;
}

/** Reads what the daemon is, and becomes a trusted client with the token if it is not one. */
export async function connectServer(
  client: Pick<IncusClient, 'server' | 'trust'>,
  { address, trustToken }: ConnectionConfig,
  signal: AbortSignal,
): Promise<Server> {
  let server = await client.server(signal);
  if (server.auth !== 'trusted' && trustToken !== undefined) {
    await client.trust(readTrustToken(trustToken).clientName, trustToken, signal);
    server = await client.server(signal);
  }
  if (server.auth !== 'trusted') {
    const remedy = 'add its certificate ("config trust add FILE" on the server), or set trust-token';
    throw new UntrustedError(`${address}: the daemon does not trust this client: ${remedy}`);
  }
  return describe(server);
}

function describe({ environment, api_extensions: extensions }: ApiServer): Server {
  const { server = '', server_version: version = 'unknown', server_clustered: isClustered = false } = environment ?? {};
  const product = { incus: 'Incus', lxd: 'LXD' }[server];
  if (product === undefined) {
    throw new ConfigError(`the server calls itself "${server}": the incus driver works with Incus and LXD`);
  }
  return { product, version, isClustered, startsOnCreation: extensions.includes('instance_create_start') };
}
