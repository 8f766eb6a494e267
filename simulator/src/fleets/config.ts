import { stringify } from 'yaml';
import type { Config, Driver } from '@nodepool/core';
import { createDriverRegistry, loadConfig, type DriverRegistry } from '@nodepool/core/config';
import { systemClock, type Clock, type Json, type JsonObject, type Resources } from '@nodepool/zk-protocol';

/** A shortened configuration. */
export interface ConfigSpec {
  readonly labels: readonly {
    name: string;
    minReady?: number;
    maxReadyAgeMs?: number;
    standby?: { readonly atMost: number } | undefined;
    keep?: 'stopped';
  }[];
  readonly maxHoldAgeMs: number;
  readonly tenantLimits: ReadonlyMap<string, Resources>;
  /** Whether launchers avoid failing providers. Default: true. */
  readonly steering?: boolean;
  /** Provider entries as in the file. */
  readonly providers: readonly JsonObject[];
}

const FILE = '/etc/nodepool/nodepool.yaml';
const SECURE_FILE = '/etc/nodepool/secure.conf';
/** Signs the tokens of lessees. */
export const TOKEN_KEY = 'simulated-key-'.repeat(4);
const ZOOKEEPER = 'zookeeper.example.com';
/** Environment of each launcher. */
const ENV = { NODEPOOL_ZOOKEEPER: ZOOKEEPER };
/** The simulator gives launchers numbers instead. */
const FOLLOW = '1h';

/** What the main file says. */
export function fileOf(spec: ConfigSpec): JsonObject {
  const { labels, maxHoldAgeMs, tenantLimits, steering, providers } = spec;
  return {
    'zookeeper-servers': [{ host: '%(NODEPOOL_ZOOKEEPER)' }],
    'max-hold-age': maxHoldAgeMs / 1000,
    ...(steering !== undefined && { steering }),
    'tenant-resource-limits': [...tenantLimits].map(([tenant, { instances, ...others }]) => ({
      ...{ 'tenant-name': tenant, ...others },
      ...(instances !== undefined && { 'max-servers': instances }),
    })),
    labels: labels.map(labelOf),
    providers: [...providers],
  };
}

function labelOf({ name, minReady = 0, maxReadyAgeMs = 0, standby, keep }: ConfigSpec['labels'][number]): JsonObject {
  const goal = standby && { follow: FOLLOW, 'at-most': standby.atMost };
  return {
    ...{ name, 'min-ready': minReady, 'max-ready-age': maxReadyAgeMs / 1000 },
    ...((goal ?? keep) && { standby: { ...goal, ...(keep && { keep }) } }),
  };
}

/** The text of the main file. */
export const configText = (spec: ConfigSpec): string => stringify(fileOf(spec));

/** What it takes to read a file. */
export interface Reading {
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly clock: Clock;
  /** The text of the main file. Rejects with the error of the system. */
  readonly read: () => Promise<string>;
}

/** Reads a file as a service does. @throws ConfigError with all problems */
export function readConfig({ drivers, clock, read }: Reading): Promise<Config> {
  return loadConfig({
    ...{ file: FILE, secureFile: SECURE_FILE, env: ENV, drivers: makeRegistry(drivers), mode: 'service', clock },
    read: async (file) => Buffer.from(file === FILE ? await read() : stringify({ 'token-keys': [TOKEN_KEY] })),
  });
}

/** Reads the file of a configuration. @throws ConfigError a driver rejects it */
export function makeConfig(spec: ConfigSpec, drivers: ReadonlyMap<string, Driver>): Promise<Config> {
  return readConfig({ drivers, clock: systemClock, read: () => Promise.resolve(configText(spec)) });
}

/** A registry of the given drivers alone. */
export function makeRegistry(drivers: ReadonlyMap<string, Driver>): DriverRegistry {
  return createDriverRegistry({ searchFrom: [], drivers: [...drivers.values()] });
}

/** In what a configuration differs from the file that it was read from. */
export function differences(config: Config, spec: ConfigSpec): string[] {
  const found: string[] = [];
  const compare = (what: string, is: Json, should: Json) => {
    const [left, right] = [JSON.stringify(is), JSON.stringify(should)];
    if (left !== right) found.push(`${what} ${left}, not ${right}`);
  };
  compare('ZooKeeper', config.zookeeper.servers[0]?.host ?? '', ZOOKEEPER);
  compare('max-hold-age', config.maxHoldAgeMs, spec.maxHoldAgeMs);
  compare('limits of tenants', entriesOf(config.tenantLimits), entriesOf(spec.tenantLimits));
  compare(
    'labels',
    [...config.labels.values()].map(({ name, minReady, maxReadyAgeMs, keep }) => [
      ...[name, minReady, maxReadyAgeMs, keep ?? ''],
    ]),
    spec.labels.map(({ name, minReady = 0, maxReadyAgeMs = 0, keep = '' }) => [name, minReady, maxReadyAgeMs, keep]),
  );
  const entries = [...config.providers.values()].map(({ entry }) => entry);
  compare('providers', entries, [...spec.providers]);
  return found;
}

const entriesOf = (map: ReadonlyMap<string, Resources>): Json => [...map].map(([key, value]) => [key, { ...value }]);

/** The pools of a configuration, with their labels. */
export function poolsOf({ providers }: ConfigSpec): Map<string, ReadonlySet<string>> {
  return new Map(
    providers.flatMap((provider) =>
      ((provider['pools'] ?? []) as JsonObject[]).map(
        (pool) => [`${textOf(provider['name'])}/${textOf(pool['name'])}`, labelsOf(pool)] as const,
      ),
    ),
  );
}

function labelsOf({ labels = [], nodes = [] }: JsonObject): Set<string> {
  const named = (labels as { name: string }[]).map(({ name }) => name);
  return new Set([...named, ...(nodes as { labels: string[] }[]).flatMap((node) => node.labels)]);
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
