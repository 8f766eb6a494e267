import { isMap, mapsOf, numberOf, textOf, type JsonObject, type Json } from '@nodepool/zk-protocol';
import type {
  PoolConfig,
  PoolLabelConfig,
  ProviderConfig,
  ProviderConfigContext,
  ProblemReporter,
} from '@nodepool/core';

/** Keys below a provider entry, e.g. `['pools', 0, 'nodes', 2]`. */
export type EntryPath = readonly (string | number)[];

/** One configured host. */
export interface HostConfig {
  /** Host name or address; the record's `hostname`, `external_id` and `interface_ip`. */
  readonly name: string;
  readonly labels: readonly string[];
  readonly username: string;
  readonly port: number;
  readonly connectionType: string;
  readonly shellType: string | null;
  readonly pythonPath: string;
  /** Time limit of one host check. */
  readonly timeoutMs: number;
  /** `false`: the host is never contacted. */
  readonly hostKeyChecking: boolean;
  /** Whether a host is refused once its keys have changed. */
  readonly pinsHostKeys: boolean;
  /** Expected keys, each `<type> <base64>`; empty: any key is accepted. */
  readonly hostKeys: readonly string[];
  /** Number of slots. */
  readonly maxParallelJobs: number;
  readonly path: EntryPath;
}

/** A pool with its hosts. */
export interface StaticPoolConfig extends PoolConfig {
  readonly hosts: readonly HostConfig[];
}

/** Typed form of a provider entry of this driver. */
export interface StaticProviderConfig extends ProviderConfig {
  readonly pools: ReadonlyMap<string, StaticPoolConfig>;
}

/** Key that is unique among the hosts of a file: name, user name and port. */
export function identityOf(name: string | null, username: string | null, port: Json): string {
  return `${name ?? ''}\0${username ?? ''}\0${typeof port === 'number' ? port : JSON.stringify(port)}`;
}

/** The identity of a configured host; equals that of its records. */
export function hostIdentity(host: HostConfig): string {
  return identityOf(host.name, host.username, host.port);
}

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): StaticProviderConfig {
  const pools = new Map<string, StaticPoolConfig>();
  mapsOf(entry['pools']).forEach((pool, index) => {
    const path: EntryPath = ['pools', index];
    const read = readPool(pool, path, context);
    pools.set(read.name, read);
  });
  return {
    name: textOf(entry['name']) ?? '',
    driverName: 'static',
    entry,
    maxConcurrency: numberOf(entry['max-concurrency']) ?? -1,
    priority: numberOf(entry['priority']),
    pools,
    managesImages: false,
  };
}

/** Reports hosts that share name, user name and port, in any provider of the file. */
export function checkIdentities(configs: readonly StaticProviderConfig[], problem: ProblemReporter): void {
  const seen = new Map<string, string>();
  for (const config of configs) {
    for (const pool of config.pools.values()) {
      for (const host of pool.hosts) {
        const identity = hostIdentity(host);
        const first = seen.get(identity);
        if (first === undefined) {
          seen.set(identity, `provider "${config.name}", pool "${pool.name}"`);
          continue;
        }
        problem(
          config.name,
          [...host.path, 'name'],
          `host "${host.name}" with username "${host.username}" and connection-port ${host.port} is already in ${first}: ` +
            'to run several jobs on one host use "max-parallel-jobs"',
        );
      }
    }
  }
}

function readPool(pool: JsonObject, path: EntryPath, context: ProviderConfigContext): StaticPoolConfig {
  const hosts = mapsOf(pool['nodes']).map((node, index) => readHost(node, [...path, 'nodes', index], context));
  const labels = new Map<string, PoolLabelConfig>();
  for (const host of hosts) for (const name of host.labels) labels.set(name, { name });
  return {
    name: textOf(pool['name']) ?? '',
    labels,
    maxServers: numberOf(pool['max-servers']) ?? Infinity,
    maxResources: {},
    nodeAttributes: isMap(pool['node-attributes']) ? pool['node-attributes'] : null,
    priority: numberOf(pool['priority']),
    ignoreProviderQuota: false,
    azs: undefined,
    hosts,
  };
}

function readHost(node: JsonObject, path: EntryPath, context: ProviderConfigContext): HostConfig {
  if (node['ssh-port'] !== undefined) {
    const fix = node['connection-port'] === undefined ? 'rename it' : 'remove it, "connection-port" takes precedence';
    context.problem([...path, 'ssh-port'], `"ssh-port" is the old name of "connection-port": ${fix}`, 'warning');
  }
  return {
    name: textOf(node['name']) ?? '',
    labels: readLabels(node['labels'], [...path, 'labels'], context),
    username: textOf(node['username']) ?? 'zuul',
    port: numberOf(node['connection-port'] ?? node['ssh-port']) ?? 22,
    connectionType: textOf(node['connection-type']) ?? 'ssh',
    shellType: textOf(node['shell-type']) ?? null,
    pythonPath: textOf(node['python-path']) ?? 'auto',
    timeoutMs: (numberOf(node['timeout']) ?? 5) * 1000,
    hostKeyChecking: node['host-key-checking'] !== false,
    pinsHostKeys: node['host-key-checking'] === 'pinned',
    hostKeys: readHostKeys(node['host-key'], [...path, 'host-key'], context),
    maxParallelJobs: Math.max(0, numberOf(node['max-parallel-jobs']) ?? 1),
    path,
  };
}

/** Accepts a list or one string with spaces between labels. */
function readLabels(value: Json | undefined, path: EntryPath, context: ProviderConfigContext): string[] {
  const names = textsOf(value).flatMap((text) => text.split(/\s+/).filter((name) => name !== ''));
  if (names.length === 0)
    context.problem(path, 'the host has no label, so it is never used: name at least one', 'warning');
  names.forEach((name, index) => {
    if (context.labels.has(name)) return;
    const place = Array.isArray(value) && value.length === names.length ? [...path, index] : path;
    context.problem(place, `label "${name}" is not defined: add it to the top-level "labels" or correct its name`);
  });
  return [...new Set(names)];
}

/**
 * Drops the comment that follows a key in a `.pub` file. A value of another form is only a warning, because the Python
 * implementation accepts it; no host can match it.
 */
function readHostKeys(value: Json | undefined, path: EntryPath, context: ProviderConfigContext): string[] {
  const texts = value === '' ? [] : textsOf(value);
  return texts.map((text, index) => {
    const [type = '', key] = text.trim().split(/\s+/);
    if (key === undefined) {
      const place = Array.isArray(value) ? [...path, index] : path;
      context.problem(
        place,
        'no host can match this key: write it as "<type> <base64>", e.g. "ssh-ed25519 AAAA...", as ssh-keyscan prints it',
        'warning',
      );
    }
    return `${type} ${key ?? ''}`;
  });
}

function textsOf(value: Json | undefined): string[] {
  return (Array.isArray(value) ? value : [value]).filter((text) => typeof text === 'string');
}
