import { hostname } from 'node:os';
import { componentPath, componentsPath, decodeComponent, isPoolComponent } from '@nodepool/zk-protocol';
import type { ComponentRecord, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { ifPresent, mapPipelined } from '../fetch-records.js';

const WILDCARDS = new Set(['0.0.0.0', '::', '']);
const DEFAULT_WEBAPP = { port: 8005, listenAddress: '0.0.0.0' };
const LOOPBACK = '127.0.0.1';
const WORKER_MARK = '-PoolWorker.';

/** Where the registered launchers answer the web, e.g. `http://nl01.example.com:8005`; all use the configured port. */
export async function findLauncherUrls(zk: ZooKeeper, webapp: Config['webapp'] = DEFAULT_WEBAPP): Promise<string[]> {
  if (webapp.port === 0) return [];
  const components = (await Promise.all(['launcher', 'pool'].map((kind) => fetchComponents(zk, kind)))).flat();
  const own = hostname();
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

async function fetchComponents(zk: ZooKeeper, kind: string): Promise<ComponentRecord[]> {
  const ids = (await ifPresent(zk.getChildren(componentsPath(kind)))) ?? [];
  const found = await mapPipelined(ids, async (id) => {
    const znode = await ifPresent(zk.getData(componentPath(kind, id)));
    return znode && decodeComponent(kind, id, znode.data, znode.stat);
  });
  return found.filter((component) => component !== undefined);
}
