import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { isIP } from 'node:net';
import { ZooKeeperError } from './contract/errors.js';

/** Client certificate, key and CA: PEM text, or path of a PEM file. Files are read for each connection. */
export interface ZooKeeperTlsOptions {
  cert: string;
  key: string;
  ca: string;
  /** Name in the server's certificate. @default the configured host */
  servername?: string | undefined;
  /** False accepts any name in a certificate of the CA. @default true */
  verifyHostname?: boolean | undefined;
}

/**
 * Options for `tls.connect`, with files read and checked.
 * @throws ZK_BAD_ARGUMENTS naming the invalid file or option
 */
export function loadTls(options: ZooKeeperTlsOptions): ConnectionOptions {
  const pem = { cert: readPem(options, 'cert'), key: readPem(options, 'key'), ca: readPem(options, 'ca') };
  try {
    return {
      // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0, perhaps set for a cloud, does not disable verification here.
      rejectUnauthorized: true,
      secureContext: createSecureContext({ ...pem, minVersion: 'TLSv1.2' }),
      ...(options.servername === undefined ? {} : { servername: options.servername }),
      ...(options.verifyHostname === false ? { checkServerIdentity: () => undefined } : {}),
    };
  } catch (error) {
    throw new ZooKeeperError(
      'ZK_BAD_ARGUMENTS',
      `ZooKeeper TLS: certificate, key and CA do not match or are not PEM: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Server name for SNI: the configured one, or the host unless it is an IP address. */
export function serverName(options: ConnectionOptions, host: string): string | undefined {
  return options.servername ?? (isIP(host) === 0 ? host : undefined);
}

function readPem(options: ZooKeeperTlsOptions, part: 'cert' | 'key' | 'ca'): string {
  const value = options[part];
  if (value.includes('-----BEGIN')) return value;
  try {
    return readFileSync(value, 'utf8');
  } catch (error) {
    throw new ZooKeeperError('ZK_BAD_ARGUMENTS', `ZooKeeper TLS: cannot read the ${part} file ${value}`, {
      cause: error,
    });
  }
}
