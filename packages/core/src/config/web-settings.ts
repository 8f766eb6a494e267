import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { WebappConfig, WebTls } from '../contract/config.js';
import type { ProblemCollector } from './problems.js';
import { mapOf, numberOf, textOf } from './raw-values.js';
import { flag, integer, name, section, text } from './schema-parts.js';
import type { SourceDocument } from './source-document.js';

/** Schema of the web server of a service. @param own - keys that only this service has */
export function webappSchema(
  of: string,
  { port, address, addressText }: { port: number; address: string; addressText: string },
  own: JsonObject = {},
): JsonObject {
  const range = { minimum: 0, maximum: 65535 };
  return {
    ...section(`Web server of the ${of}`, {
      port: integer('Port to listen on; 0: any free one', { default: port, restart: true }, range),
      listen_address: text(addressText, { default: address, restart: true }),
      tls: {
        ...section(
          'HTTPS',
          {
            cert: name('Certificate with its chain, a PEM file', { examples: ['/etc/nodepool/web.pem'] }),
            key: name('Key of the certificate, a PEM file', { examples: ['/etc/nodepool/web.key'] }),
          },
          ['cert', 'key'],
        ),
        description:
          'HTTPS instead of HTTP; both files are read again when they change. Adding or removing it needs a restart',
        'x-default': 'none: HTTP',
      },
      ...own,
    }),
    description: `Web server of the ${of}`,
    'x-default': 'as below',
  };
}

/** Keys of `webapp` that `builder-webapp` does not have. */
export const LEASE_KEYS = {
  'anonymous-leases': flag('Whether users of this computer may lease nodes over HTTP without a token', {
    default: false,
  }),
} satisfies JsonObject;

/** Reads settings of a web server. */
export function readWebapp(value: Json | undefined, defaults: WebappConfig): WebappConfig {
  const { port, listen_address: address, 'anonymous-leases': anonymousLeases, tls } = mapOf(value);
  return {
    ...{ port: numberOf(port) ?? defaults.port, listenAddress: textOf(address) ?? defaults.listenAddress },
    anonymousLeases: anonymousLeases === true,
    tls: tlsOf(tls),
  };
}

function tlsOf(value: Json | undefined): WebTls | undefined {
  const { cert, key } = mapOf(value);
  return typeof cert === 'string' && typeof key === 'string' ? { certFile: cert, keyFile: key } : undefined;
}

/** Certificate and key of a web server, as PEM. */
export interface WebCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A file that HTTPS cannot use. */
interface Unusable {
  readonly at: 'cert' | 'key';
  readonly problem: string;
}

/** Reads the files of a web server with HTTPS. @throws {Error} they cannot be used */
export function readWebCertificate(tls: WebTls): WebCertificate {
  const found = tryCertificate(tls);
  if ('problem' in found) throw new Error(found.problem);
  return found;
}

function tryCertificate({ certFile, keyFile }: WebTls): WebCertificate | Unusable {
  let at: Unusable['at'] = 'cert';
  try {
    const cert = readFileSync(certFile);
    createSecureContext({ cert });
    at = 'key';
    const key = readFileSync(keyFile);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    const { code = '', syscall, message } = error as NodeJS.ErrnoException;
    const file = at === 'cert' ? certFile : keyFile;
    if (syscall !== undefined) return { at, problem: `${file} cannot be read: ${message}` };
    if (at === 'cert') return { at, problem: `${file} has no certificate in PEM form: ${message}` };
    const why = code.includes('MISMATCH') ? `is not the key of ${certFile}` : 'has no PEM key without a passphrase';
    return { at, problem: `${file} ${why}: ${message}` };
  }
}

/** Reports files of `tls` that cannot be used. */
export function checkCertificate(
  top: JsonObject,
  section: 'webapp' | 'builder-webapp',
  {
    document,
    problems,
    severity,
  }: { document: SourceDocument; problems: ProblemCollector; severity: 'error' | 'warning' },
): void {
  const tls = tlsOf(mapOf(top[section])['tls']);
  const found = tls && tryCertificate(tls);
  if (found && 'problem' in found) problems.add(document, [section, 'tls', found.at], found.problem, { severity });
}
