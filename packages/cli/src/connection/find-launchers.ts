import { hostname } from 'node:os';
import { isPoolComponent } from '@nodepool/zk-protocol';
import type { ComponentRecord } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { CliContext } from '../command/context.js';
import { loadIfPresent, withZooKeeper } from './connection.js';
import { fetchComponents } from './fetch-records.js';
import { isHost, LOOPBACK, shortName, registeredUrls } from './web-urls.js';
import type { RecordSource } from './fetch-records.js';

const WILDCARDS = new Set(['0.0.0.0', '::', '']);
const DEFAULT_WEBAPP = { port: 8005, listenAddress: '0.0.0.0' };
const WORKER_MARK = '-PoolWorker.';

/**
 * URLs of the web servers of registered launchers, e.g. `http://nl01.example.com:8005`. Launchers of other releases register no
 * URL; for those it is the configured port of their host.
 */
export async function findLauncherUrls(
  source: RecordSource,
  webapp: Config['webapp'] = DEFAULT_WEBAPP,
): Promise<string[]> {
  const components = (await Promise.all(['launcher', 'pool'].map((kind) => fetchComponents(source, kind)))).flat();
  return launcherUrls(components, webapp, hostname());
}

/** As {@link findLauncherUrls}, over a connection of its own. */
export function registeredLaunchers(context: CliContext): Promise<string[]> {
  return withZooKeeper(context, async (zk) => {
    const config = await loadIfPresent(context);
    return findLauncherUrls({ ...context, zk }, config?.webapp);
  });
}

/** @param own - name of this host */
export function launcherUrls(components: readonly ComponentRecord[], webapp: Config['webapp'], own: string): string[] {
  const telling = components.filter(({ webUrl }) => webUrl);
  const registered = registeredUrls(telling, own);
  const silent = components.filter(
    (component) => !telling.some(({ hostname: host }) => isHost(host, component.hostname)),
  );
  const guessed = webapp.port === 0 ? [] : configuredUrls(silent, webapp, own);
  return [...new Set([...registered, ...guessed])].sort();
}

function configuredUrls(components: readonly ComponentRecord[], webapp: Config['webapp'], own: string): string[] {
  const hosts = new Set(launcherHosts(components).map((host) => (isHost(host, own) ? ownAddress(webapp) : host)));
  const scheme = webapp.tls ? 'https' : 'http';
  return [...hosts].sort().map((host) => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${webapp.port}`);
}

/** Each host once, by its full name if a pool has it: a launcher's own entry has the short name. */
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

function ownAddress({ listenAddress }: Config['webapp']): string {
  return WILDCARDS.has(listenAddress) ? LOOPBACK : listenAddress;
}
