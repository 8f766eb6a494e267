import { formatServer, type Json, mapOf, numberOf, textOf } from '@nodepool/zk-protocol';
import type { ProblemCollector } from './problems.js';
import { namedEntries } from './raw-values.js';
import type { SourceDocument } from './source-document.js';
import type { ZooKeeperDigest, ZooKeeperServer, ZooKeeperSettings, ZooKeeperTls } from '../contract/config.js';

const PLAIN_PORT = 2181;
const TLS_PORT = 2281;
const DEFAULT_TIMEOUT_SECONDS = 10;

/** A section of the main or secure file. */
export interface Section {
  readonly document: SourceDocument;
  readonly value: Json | undefined;
}

/** Reads the `zookeeper-` and `embedded-zookeeper-` keys from the given sections. */
export function readZooKeeperSettings(
  sections: {
    servers: Section;
    tls: Section;
    digest: Json | undefined;
    timeout: Json | undefined;
    access: Json | undefined;
    port?: Json | undefined;
  },
  problems: ProblemCollector,
): ZooKeeperSettings {
  const tls = readTls(sections.tls.value);
  const servers = readServers(sections.servers, tls === undefined ? PLAIN_PORT : TLS_PORT, problems);
  if (tls === undefined) warnOfPlainText(servers, sections.servers.document, problems);
  const sessionTimeoutMs = (numberOf(sections.timeout) ?? DEFAULT_TIMEOUT_SECONDS) * 1000;
  const embeddedAccess = sections.access === 'group' || sections.access === 'anyone' ? sections.access : 'owner';
  const embeddedPort = numberOf(sections.port);
  return { servers, tls, digest: readDigest(sections.digest), sessionTimeoutMs, embeddedAccess, embeddedPort };
}

function readDigest(value: Json | undefined): ZooKeeperDigest | undefined {
  const { user, password, protect } = mapOf(value);
  if (typeof user !== 'string' || typeof password !== 'string') return undefined;
  return { user, password, protect: protect === true };
}

/** `host:port,host:port/chroot`, as in connection strings and logs. The chroot appears once, at the end. */
export function formatZooKeeperServers(servers: readonly ZooKeeperServer[]): string {
  const hosts = servers.map(formatServer).join(',');
  return hosts + (servers.find(({ chroot }) => chroot !== undefined)?.chroot ?? '');
}

function readTls(value: Json | undefined): ZooKeeperTls | undefined {
  const { cert, key, ca, 'verify-hostname': verifyHostname } = mapOf(value);
  if (typeof cert !== 'string' || typeof key !== 'string' || typeof ca !== 'string') return undefined;
  return { certFile: cert, keyFile: key, caFile: ca, verifyHostname: verifyHostname !== false };
}

/** Reads the servers. One chroot applies to all servers, at any position in the list. */
function readServers(section: Section, defaultPort: number, problems: ProblemCollector): ZooKeeperServer[] {
  const entries = namedEntries(section.value, 'host');
  if (Array.isArray(section.value) && section.value.length === 0) {
    const fix = 'name the servers, or leave the key out to use the embedded server of this machine';
    problems.add(section.document, ['zookeeper-servers'], `the list is empty: ${fix}`, { atKey: true });
  }
  const chroots = entries.map(({ index, entry }) => readChroot(entry['chroot'], index, section.document, problems));
  const chroot = chroots.findLast((text) => text !== undefined);
  for (const [position, other] of chroots.entries()) {
    const index = entries[position]?.index ?? position;
    const path = ['zookeeper-servers', index, 'chroot'];
    if (other !== undefined && other !== chroot) {
      const message = `all servers share one chroot, expected "${chroot}" as on the other server, got "${other}"`;
      problems.add(section.document, path, message);
    } else if (other !== undefined && position < chroots.length - 1) {
      const message = 'is taken for all servers; other Nodepool versions read it right only on the last server';
      problems.add(section.document, path, message, { severity: 'warning' });
    }
  }
  return entries.map(({ index, name, entry }) => ({
    host: readHost(name, index, section.document, problems),
    port: numberOf(entry['port']) ?? defaultPort,
    chroot,
  }));
}

function readHost(text: string, index: number, document: SourceDocument, problems: ProblemCollector): string {
  const host = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text;
  const colons = host.split(':').length - 1;
  if (colons === 1 || /[\s/,]/.test(host)) {
    const hint = colons === 1 ? ' (give the port as "port")' : '';
    const message = `expected one host name or address, got ${JSON.stringify(text)}${hint}`;
    problems.add(document, ['zookeeper-servers', index, 'host'], message);
  }
  return host;
}

/** Reads a chroot. `/` alone is no chroot; a missing leading `/` is added. */
function readChroot(
  value: Json | undefined,
  index: number,
  document: SourceDocument,
  problems: ProblemCollector,
): string | undefined {
  const text = textOf(value)?.replace(/\/+$/, '');
  if (text === undefined || text === '') return undefined;
  const chroot = text.startsWith('/') ? text : `/${text}`;
  const path = ['zookeeper-servers', index, 'chroot'];
  const parts = chroot.slice(1).split('/');
  if (parts.some((part) => part === '' || /^\.\.?$/.test(part))) {
    const message = `expected an absolute ZooKeeper path such as "/nodepool", got ${JSON.stringify(text)}`;
    problems.add(document, path, message);
  } else if (chroot !== text) {
    problems.add(document, path, `is taken as "${chroot}": a chroot begins with "/"`, { severity: 'warning' });
  }
  return chroot;
}

function warnOfPlainText(
  servers: readonly ZooKeeperServer[],
  document: SourceDocument,
  problems: ProblemCollector,
): void {
  const remote = servers.find(({ host }) => !isLoopback(host));
  if (remote === undefined) return;
  const message = `the connection to ZooKeeper at ${remote.host} is not encrypted, set "zookeeper-tls" with cert, key and ca`;
  problems.add(document, ['zookeeper-servers'], message, { severity: 'warning', atKey: true });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
