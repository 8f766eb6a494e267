import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { listOf, mapOf, numberOf, textOf, textsOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import {
  SOCKET_ACCESSES,
  type ConfigProblem,
  type Subnet,
  type WebappConfig,
  type WebTls,
} from '../contract/config.js';
import type { ProblemCollector } from './problems.js';
import { flag, integer, name, section, text, texts } from './schema-parts.js';
import type { SourceDocument } from './source-document.js';

/** Keys with settings of web servers. */
export type WebSection = 'webapp' | 'builder-webapp';

interface WebCheck {
  readonly document: SourceDocument;
  readonly problems: ProblemCollector;
}

const TLS = {
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
} satisfies JsonObject;

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
      tls: TLS,
      names: {
        ...texts(
          'Names that the service is called by besides that of its host, such as that of a proxy. Pages may act from `https://NAME`; ' +
            'give the whole origin where it has another scheme or port',
          { otherwise: 'none', examples: [['nodepool.example.org', 'https://pool.example.org:8443']] },
        ),
        items: { type: 'string', pattern: String.raw`^(https?://)?[^\s:/]+(:\d{1,5})?$` },
      },
      'trusted-proxies': texts(
        'Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto count; ranges as CIDR',
        {
          otherwise: 'none',
          examples: [['192.0.2.10', '2001:db8::/64']],
        },
      ),
      'cross-origin-reads': flag('Whether pages of other sites may read what /api/v1 shows without a token', {
        default: false,
      }),
      'insecure-tokens': flag('Whether tokens may arrive over plain HTTP from other computers', { default: false }),
      ...own,
    }),
    description: `Web server of the ${of}`,
    'x-default': 'as below',
  };
}

/** Keys of `webapp` that `builder-webapp` does not have. */
export const LEASE_KEYS = {
  'socket-mode': {
    type: 'string',
    enum: [...SOCKET_ACCESSES],
    default: 'group',
    description:
      "Users of this computer who may lease nodes without a token, on a Unix socket in the state directory: of the launcher's " +
      'user alone (`owner`), of its group, of any (`anyone`). Takes effect after a restart',
  },
  'anonymous-leases': { type: 'boolean', description: 'Without effect; see `socket-mode`', deprecated: true },
} satisfies JsonObject;

/** Reads settings of a web server. */
export function readWebapp(value: Json | undefined, defaults: WebappConfig): WebappConfig {
  const { port, listen_address: address, 'socket-mode': socketMode, ...given } = mapOf(value);
  return {
    ...{ port: numberOf(port) ?? defaults.port, listenAddress: textOf(address) ?? defaults.listenAddress },
    socketAccess: SOCKET_ACCESSES.find((access) => access === socketMode) ?? defaults.socketAccess,
    ...{ tls: tlsOf(given['tls']), insecureTokens: given['insecure-tokens'] === true },
    crossOriginReads: given['cross-origin-reads'] === true,
    ...{ names: textsOf(given['names']), trustedProxies: textsOf(given['trusted-proxies']).flatMap(subnetOf) },
  };
}

/** Warns of `anonymous-leases`, which gave leases to all who reached the port through a proxy or a tunnel. */
export function checkAnonymousLeases(top: JsonObject, { document, problems }: WebCheck): void {
  if (mapOf(top['webapp'])['anonymous-leases'] === undefined) return;
  const message =
    'this key has no effect: users of this computer lease on a Unix socket (web-socket/socket in the state directory), which ' +
    'the commands find by themselves; socket-mode says who may';
  problems.add(document, ['webapp', 'anonymous-leases'], message, { severity: 'warning' });
}

/** Warns of `webhooks`, which posted events to other computers. */
export function checkWebhooks(top: JsonObject, { document, problems }: WebCheck): void {
  if (top['webhooks'] === undefined) return;
  const message =
    'this key has no effect, as launchers and builders call no webhooks any more: rules of Prometheus alert of conditions ' +
    '(contrib/prometheus), and GET /api/v1/events streams the same events';
  problems.add(document, ['webhooks'], message, { severity: 'warning' });
}

function tlsOf(value: Json | undefined): WebTls | undefined {
  const { cert, key } = mapOf(value);
  return typeof cert === 'string' && typeof key === 'string' ? { certFile: cert, keyFile: key } : undefined;
}

/** Reads an address or a range such as `10.0.0.0/8`. @returns nothing if it is neither */
function subnetOf(text: string): Subnet[] {
  const [, network = '', digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(network);
  const longest = version === 4 ? 32 : 128;
  const prefix = digits === undefined ? longest : Number(digits);
  if (version === 0 || prefix > longest) return [];
  return [{ network, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }];
}

/** Reports entries of `trusted-proxies` that are no addresses. */
export function checkProxies(top: JsonObject, section: WebSection, { document, problems }: WebCheck): void {
  for (const [index, entry] of listOf(mapOf(top[section])['trusted-proxies']).entries()) {
    if (typeof entry !== 'string' || subnetOf(entry).length > 0) continue;
    const message = `expected an IP address or a range such as "10.0.0.0/8", got ${JSON.stringify(entry)}`;
    problems.add(document, [section, 'trusted-proxies', index], message);
  }
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
  section: WebSection,
  { document, problems }: WebCheck,
  severity: ConfigProblem['severity'],
): void {
  const tls = tlsOf(mapOf(top[section])['tls']);
  const found = tls && tryCertificate(tls);
  if (found && 'problem' in found) problems.add(document, [section, 'tls', found.at], found.problem, { severity });
}
