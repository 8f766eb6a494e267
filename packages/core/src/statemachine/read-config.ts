import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { readCommonPool, readCommonProvider } from '../config/common-values.js';
import { namedEntries, numberOf, textOf, textsOf } from '../config/raw-values.js';
import type { JsonSchema, ProviderConfigContext } from '../driver/types.js';
import type {
  CloudImageConfig,
  ImageConnection,
  ProviderDiskimageConfig,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from './types.js';

const LIMITED = ['cores', 'ram', 'volumes', 'volume-gb'];

/**
 * Schemas of the keys that {@link readStateMachineProvider} reads, to be merged into a driver's own. A driver takes those
 * that it can do something with.
 */
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
  /** Of an entry of the provider's `diskimages`, for drivers that manage images. */
  diskimage: {
    name: { type: 'string', minLength: 1 },
    pause: { type: 'boolean' },
    meta: { type: 'object', additionalProperties: true },
    'connection-type': { type: 'string' },
    'connection-port': { type: 'integer', minimum: 1, maximum: 65535 },
  },
  /** Of an entry of `pools`. */
  pool: {
    name: { type: 'string', minLength: 1 },
    priority: { type: 'integer' },
    'max-servers': { type: 'integer' },
    'max-cores': { type: 'integer' },
    'max-ram': { type: 'integer' },
    'max-volumes': { type: 'integer' },
    'max-volume-gb': { type: 'integer' },
    'ignore-provider-quota': { type: 'boolean' },
    'node-attributes': { type: 'object', additionalProperties: true },
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
  /** Beside `label`, for drivers that manage images. */
  diskimageLabel: { diskimage: { type: 'string' } },
} satisfies Record<string, JsonSchema>;

/** How a driver's configuration differs from the usual. */
export interface ReadStateMachineProviderOptions {
  readonly driverName: string;
  /** Default of `boot-timeout`. Default 60,000. */
  readonly bootTimeoutMs?: number | undefined;
  /** Default of `host-key-checking`. Default true. */
  readonly hostKeyChecking?: boolean | undefined;
  /** What `rate` counts. Default: calls per second. */
  readonly rate?: 'calls-per-second' | 'seconds-between-calls' | undefined;
  /** The driver uploads the images of `diskimages`. Default false. */
  readonly managesImages?: boolean | undefined;
  /** The file's images, where nodes take their login data from these instead of from the uploads. */
  readonly diskimages?: ProviderConfigContext['diskimages'] | undefined;
}

/**
 * Reads what most state-machine drivers have in common of an entry that has passed the schema: timeouts, retries, `rate`,
 * images, pools with their limits (`-1`: none) and labels. A driver adds its own keys to the result.
 */
export function readStateMachineProvider(
  entry: JsonObject,
  options: ReadStateMachineProviderOptions,
): StateMachineProviderConfig {
  const common = readCommonProvider(entry, options.driverName);
  const pools = namedEntries(entry['pools']).map((pool) => readPool(pool.entry, common, options));
  const images = namedEntries(entry['cloud-images']).map((image) => readCloudImage(image.name, image.entry));
  const diskimages = namedEntries(entry['diskimages']).map((image) => readDiskimage(image.name, image.entry, options));
  return {
    ...common,
    managesImages: options.managesImages ?? false,
    launchTimeoutMs: secondsOr(entry['launch-timeout'], 3_600_000),
    bootTimeoutMs: secondsOr(entry['boot-timeout'], options.bootTimeoutMs ?? 60_000),
    launchRetries: numberOf(entry['launch-retries']) ?? 3,
    requestsPerSecond: requestsPerSecond(numberOf(entry['rate']), options),
    cloudImages: new Map(images.map((image) => [image.name, image])),
    diskimages: new Map(diskimages.map((image) => [image.name, image])),
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
      LIMITED.flatMap((name) => {
        const limit = numberOf(entry[`max-${name}`]);
        return limit === undefined || limit === -1 ? [] : [[name, limit]];
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
    diskimage: textOf(entry['diskimage']),
    cloudImage: textOf(entry['cloud-image']),
    hostKeyChecking: booleanOr(entry['host-key-checking'], hostKeyChecking),
    consoleLog: entry['console-log'] === true,
  };
}

function readCloudImage(name: string, entry: JsonObject): CloudImageConfig {
  return {
    name,
    ...readConnection(entry),
    username: textOf(entry['username']) ?? null,
    pythonPath: textOf(entry['python-path']) ?? 'auto',
    shellType: textOf(entry['shell-type']) ?? null,
    key: textOf(entry['key']),
  };
}

function readDiskimage(
  name: string,
  entry: JsonObject,
  { diskimages }: ReadStateMachineProviderOptions,
): ProviderDiskimageConfig {
  const defined = diskimages?.get(name);
  const login = defined && {
    username: defined.username,
    pythonPath: defined.pythonPath,
    shellType: defined.shellType ?? null,
  };
  return { name, ...readConnection(entry), ...login };
}

function readConnection(entry: JsonObject): Pick<ImageConnection, 'connectionType' | 'connectionPort'> {
  const connectionType = textOf(entry['connection-type']) ?? 'ssh';
  const defaultPort = connectionType === 'winrm' ? 5986 : 22;
  return { connectionType, connectionPort: numberOf(entry['connection-port']) ?? defaultPort };
}

/** Without a rate there is no limit, and neither with 0. */
function requestsPerSecond(rate: number | undefined, options: ReadStateMachineProviderOptions): number | undefined {
  if (options.rate !== 'seconds-between-calls' || rate === undefined) return rate;
  return rate > 0 ? 1 / rate : undefined;
}

function secondsOr(value: Json | undefined, defaultMs: number): number {
  const seconds = numberOf(value);
  return seconds === undefined ? defaultMs : seconds * 1_000;
}

function booleanOr(value: Json | undefined, otherwise: boolean): boolean {
  return typeof value === 'boolean' ? value : otherwise;
}
