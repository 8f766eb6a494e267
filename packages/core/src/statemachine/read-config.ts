import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { readCommonPool, readCommonProvider } from '../config/common-values.js';
import { namedEntries, numberOf, textOf, textsOf } from '../config/raw-values.js';
import type { JsonSchema } from '../driver/types.js';
import type {
  CloudImageConfig,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from './types.js';

const LIMIT_KEYS = { 'max-cores': 'cores', 'max-ram': 'ram' } as const;

/** Schemas of the keys that {@link readStateMachineProvider} reads, to be merged into a driver's own. */
export const STATE_MACHINE_SCHEMAS = {
  /** Of the provider entry. */
  provider: {
    'boot-timeout': { type: 'integer', minimum: 1 },
    'launch-timeout': { type: 'integer', minimum: 1 },
    'launch-retries': { type: 'integer', minimum: 1 },
    rate: { type: 'number', minimum: 0 },
  },
  /** Of an entry of `cloud-images`. */
  cloudImage: {
    name: { type: 'string', minLength: 1 },
    username: { type: 'string' },
    'python-path': { type: 'string' },
    'shell-type': { type: 'string' },
    'connection-type': { type: 'string' },
    'connection-port': { type: 'integer', minimum: 1, maximum: 65535 },
    key: { type: 'string' },
  },
  /** Of an entry of `pools`. */
  pool: {
    name: { type: 'string', minLength: 1 },
    priority: { type: 'integer' },
    'max-servers': { type: 'integer' },
    'max-cores': { type: 'integer' },
    'max-ram': { type: 'integer' },
    'node-attributes': { type: 'object' },
    'availability-zones': { type: 'array', items: { type: 'string' } },
    'host-key-checking': { type: 'boolean' },
    'use-internal-ip': { type: 'boolean' },
  },
  /** Of an entry of `pools[].labels`. */
  label: {
    name: { type: 'string', minLength: 1 },
    'cloud-image': { type: 'string' },
    'host-key-checking': { type: 'boolean' },
    'console-log': { type: 'boolean' },
  },
} satisfies Record<string, JsonSchema>;

/** How a driver's configuration differs from the usual. */
export interface ReadStateMachineProviderOptions {
  readonly driverName: string;
  /** Default of `boot-timeout`. Default 60,000. */
  readonly bootTimeoutMs?: number | undefined;
  /** Default of `host-key-checking`. Default true. */
  readonly hostKeyChecking?: boolean | undefined;
}

/**
 * Reads what most state-machine drivers have in common of an entry that has passed the schema: timeouts, retries,
 * `rate` in calls per second, cloud images, pools and their labels. A driver adds its own keys to the result.
 */
export function readStateMachineProvider(
  entry: JsonObject,
  options: ReadStateMachineProviderOptions,
): StateMachineProviderConfig {
  const common = readCommonProvider(entry, options.driverName);
  const pools = namedEntries(entry['pools']).map((pool) => readPool(pool.entry, common, options));
  const images = namedEntries(entry['cloud-images']).map((image) => readCloudImage(image.name, image.entry));
  return {
    ...common,
    managesImages: false,
    launchTimeoutMs: secondsOr(entry['launch-timeout'], 3_600_000),
    bootTimeoutMs: secondsOr(entry['boot-timeout'], options.bootTimeoutMs ?? 60_000),
    launchRetries: numberOf(entry['launch-retries']) ?? 3,
    requestsPerSecond: numberOf(entry['rate']),
    cloudImages: new Map(images.map((image) => [image.name, image])),
    diskimages: new Map(),
    pools: new Map(pools.map((pool) => [pool.name, pool])),
  };
}

function readPool(
  entry: JsonObject,
  provider: Pick<StateMachineProviderConfig, 'priority'>,
  options: ReadStateMachineProviderOptions,
): StateMachinePoolConfig {
  const checking = booleanOr(entry['host-key-checking'], options.hostKeyChecking ?? true);
  const zones = textsOf(entry['availability-zones']);
  const labels = namedEntries(entry['labels']).map((label) => readLabel(label.name, label.entry, checking));
  return {
    ...readCommonPool(entry, provider),
    maxResources: Object.fromEntries(
      Object.entries(LIMIT_KEYS).flatMap(([key, name]) => {
        const limit = numberOf(entry[key]);
        return limit === undefined ? [] : [[name, limit]];
      }),
    ),
    azs: zones.length > 0 ? zones : undefined,
    useInternalIp: entry['use-internal-ip'] === true,
    labels: new Map(labels.map((label) => [label.name, label])),
  };
}

function readLabel(name: string, entry: JsonObject, hostKeyChecking: boolean): StateMachineLabelConfig {
  return {
    name,
    cloudImage: textOf(entry['cloud-image']),
    hostKeyChecking: booleanOr(entry['host-key-checking'], hostKeyChecking),
    consoleLog: entry['console-log'] === true,
  };
}

function readCloudImage(name: string, entry: JsonObject): CloudImageConfig {
  const connectionType = textOf(entry['connection-type']) ?? 'ssh';
  return {
    name,
    username: textOf(entry['username']) ?? null,
    pythonPath: textOf(entry['python-path']) ?? 'auto',
    shellType: textOf(entry['shell-type']) ?? null,
    connectionType,
    connectionPort: numberOf(entry['connection-port']) ?? (connectionType === 'winrm' ? 5986 : 22),
    key: textOf(entry['key']),
  };
}

function secondsOr(value: Json | undefined, defaultMs: number): number {
  const seconds = numberOf(value);
  return seconds === undefined ? defaultMs : seconds * 1_000;
}

function booleanOr(value: Json | undefined, otherwise: boolean): boolean {
  return typeof value === 'boolean' ? value : otherwise;
}
