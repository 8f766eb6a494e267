import { ConfigError } from '@nodepool/core';

/** Contents of a token of `incus config trust add NAME` or `lxc config trust add --name NAME`. */
export interface TrustToken {
  readonly clientName: string;
  /** SHA-256 of the server's certificate. */
  readonly fingerprint: string;
}

/** Reads a trust token: base64 of a JSON object. @throws {ConfigError} it is none */
export function readTrustToken(token: string): TrustToken {
  try {
    const read = JSON.parse(Buffer.from(token, 'base64').toString('utf8')) as Record<string, unknown>;
    const { client_name: clientName, fingerprint, secret } = read;
    if (typeof clientName === 'string' && typeof fingerprint === 'string' && typeof secret === 'string') {
      return { clientName, fingerprint };
    }
  } catch {
    // reported below, without the token, which is a secret
  }
  if (token.startsWith('%(')) throw new ConfigError(`trust-token: the environment variable ${token} is not set`);
  throw new ConfigError('trust-token is not a token of "config trust add": create a new one on the server');
}
