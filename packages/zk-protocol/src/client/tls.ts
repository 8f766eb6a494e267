import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { isIP } from 'node:net';
import { ZooKeeperError } from './contract/errors.js';

/** Client certificate, key and authority: PEM text or the path of a PEM file. Files are read anew for each connection. */
export interface ZooKeeperTlsOptions {
  cert: string;
  key: string;
  ca: string;
  /** Name the server's certificate must carry. Default: the host as configured. */
  servername?: string | undefined;
  /** False accepts any name, as long as the certificate is the authority's. @default true */
  verifyHostname?: boolean | undefined;
}

/**
 * Options for `tls.connect`, with files read and checked.
 * @throws ZK_BAD_ARGUMENTS naming the file or part that cannot be used
 */
export function loadTls(options: ZooKeeperTlsOptions): ConnectionOptions {
  const pem = { cert: readPem(options, 'cert'), key: readPem(options, 'key'), ca: readPem(options, 'ca') };
  try {
    return {
      // Said in so many words, or NODE_TLS_REJECT_UNAUTHORIZED=0, set for some cloud, would switch it off here as well.
      rejectUnauthorized: true,
      secureContext: createSecureContext({ ...pem, minVersion: 'TLSv1.2' }),
      ...(options.servername === undefined ? {} : { servername: options.servername }),
      ...(options.verifyHostname === false ? { checkServerIdentity: () => undefined } : {}),
    };
  } catch (error) {
    throw new ZooKeeperError(
      'ZK_BAD_ARGUMENTS',
      `ZooKeeper TLS: certificate, key and authority do not fit together or are no PEM: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** The name to ask for (SNI): the configured one, else the host unless it is an IP address. */
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
