import { hostname } from 'node:os';
import { isPoolComponent } from '@nodepool/zk-protocol';
import type { ComponentRecord } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { fetchComponents } from '../connection/fetch-records.js';
import type { RecordSource } from '../connection/fetch-records.js';

const WILDCARDS = new Set(['0.0.0.0', '::', '']);
const DEFAULT_WEBAPP = { port: 8005, listenAddress: '0.0.0.0' };
const LOOPBACK = '127.0.0.1';
const LOOPBACK_HOST = /^(127\.|\[::1\]$|localhost$)/;
const IP_ADDRESS = /^[0-9.]+$|^\[/;
const WORKER_MARK = '-PoolWorker.';

/**
 * Where the registered launchers answer the web, e.g. `http://nl01.example.com:8005`. Launchers say so in the registry; of
 * those that do not, other releases, it is the configured port of their host.
 */
export async function findLauncherUrls(
  source: RecordSource,
  webapp: Config['webapp'] = DEFAULT_WEBAPP,
): Promise<string[]> {
  const components = (await Promise.all(['launcher', 'pool'].map((kind) => fetchComponents(source, kind)))).flat();
  return launcherUrls(components, webapp, hostname());
}

/** @param own - name of this host */
export function launcherUrls(components: readonly ComponentRecord[], webapp: Config['webapp'], own: string): string[] {
  const telling = components.filter(({ webUrl }) => webUrl);
  const told = toldUrls(telling, own);
  const silent = components.filter(
    (component) => !telling.some(({ hostname: host }) => isHost(host, component.hostname)),
  );
  const guessed = webapp.port === 0 ? [] : configuredUrls(silent, webapp, own);
  return [...new Set([...told, ...guessed])].sort();
}

/** Where those components that say so answer the web, as far as it can be reached from here. @param own - name of this host */
export function toldUrls(components: readonly ComponentRecord[], own: string): string[] {
  return components.flatMap(({ webUrl, hostname: host }) =>
    webUrl ? (reachableUrl(webUrl, isHost(host, own)) ?? []) : [],
  );
}

/** Loopback is meant for programs of the same host; there, a name that need not resolve is not needed. */
function reachableUrl(webUrl: string, isOwnHost: boolean): string | undefined {
  if (!URL.canParse(webUrl)) return undefined;
  const { hostname: host, port } = new URL(webUrl);
  const isLoopback = LOOPBACK_HOST.test(host);
  if (!isOwnHost) return isLoopback ? undefined : webUrl;
  return isLoopback || IP_ADDRESS.test(host) ? webUrl : `http://${LOOPBACK}:${port}`;
}

function configuredUrls(components: readonly ComponentRecord[], webapp: Config['webapp'], own: string): string[] {
  const hosts = new Set(launcherHosts(components).map((host) => (isHost(host, own) ? ownAddress(webapp) : host)));
  return [...hosts].sort().map((host) => `http://${host.includes(':') ? `[${host}]` : host}:${webapp.port}`);
}

/** Each host once, by its full name where a pool tells it: a launcher's own entry has the short one. */
export function launcherHosts(components: readonly ComponentRecord[]): string[] {
  const pools = components.filter(isPoolComponent);
  const hosts = new Set(pools.map(({ launcherId, hostname: name }) => fullName(launcherId) ?? name));
  const known = new Set([...hosts].map(shortName));
  for (const { kind, hostname: name } of components)
    if (kind !== 'pool' && !known.has(shortName(name))) hosts.add(name);
  return [...hosts];
}

/** Pool workers are named `<full host name>-PoolWorker.<provider>-<pool>-<id>`. */
function fullName(launcherId: string): string | undefined {
  const end = launcherId.indexOf(WORKER_MARK);
  return end > 0 ? launcherId.slice(0, end) : undefined;
}

function shortName(host: string): string {
  return host.split('.', 1)[0] ?? host;
}

function isHost(a: string, b: string): boolean {
  return a === b || ((!a.includes('.') || !b.includes('.')) && shortName(a) === shortName(b));
}

function ownAddress({ listenAddress }: Config['webapp']): string {
  return WILDCARDS.has(listenAddress) ? LOOPBACK : listenAddress;
}
