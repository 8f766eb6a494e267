import { mapOf, numberOf, textOf, textsOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { readCommonPool, readCommonProvider } from '../../config/common-values.js';
import { propertyTexts } from '../../config/property-texts.js';
import { namedEntries } from '../../config/raw-values.js';
import type { ProviderConfigContext } from '../../contract/driver.js';
import type { ProviderImages } from '../../contract/provider-config.js';
import type {
  CloudImageConfig,
  ImageConnection,
  ProviderDiskimageConfig,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from './types.js';

const LIMITED = ['cores', 'ram', 'volumes', 'volume-gb'];
/** Of these the original takes 0 for no limit. */
const ZERO_IS_NONE = new Set(['volumes', 'volume-gb']);

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
  /** Format of the provider's images, for drivers that manage images. Default `qcow2`. */
  readonly imageFormat?: string | undefined;
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
    images: options.managesImages === true ? readImages(entry, options) : undefined,
    launchTimeoutMs: secondsOr(entry['launch-timeout'], 3_600_000),
    bootTimeoutMs: secondsOr(entry['boot-timeout'], options.bootTimeoutMs ?? 60_000),
    launchRetries: Math.max(1, numberOf(entry['launch-retries']) ?? 3),
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
        const isNone = limit === undefined || limit === -1 || (limit === 0 && ZERO_IS_NONE.has(name));
        return isNone ? [] : [[name, limit]];
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

function readImages(entry: JsonObject, { imageFormat }: ReadStateMachineProviderOptions): ProviderImages {
  const diskimages = namedEntries(entry['diskimages']).map((image) => ({
    name: image.name,
    pause: image.entry['pause'] === true,
    metadata: propertyTexts(mapOf(image.entry['meta'])),
  }));
  return {
    format: imageFormat ?? 'qcow2',
    nameFormat: textOf(entry['image-name-format']) ?? '{image_name}-{timestamp}',
    uploadTimeoutMs: secondsOr(entry['image-upload-timeout'], 3_600_000),
    postUploadHook: textOf(entry['post-upload-hook']),
    diskimages: new Map(diskimages.map((image) => [image.name, image])),
  };
}

function readConnection(entry: JsonObject): Pick<ImageConnection, 'connectionType' | 'connectionPort'> {
  const connectionType = textOf(entry['connection-type']) ?? 'ssh';
  const defaultPort = connectionType === 'winrm' ? 5986 : 22;
  return { connectionType, connectionPort: numberOf(entry['connection-port']) ?? defaultPort };
}

/** Without a rate there is no limit, and neither with 0 or less. */
function requestsPerSecond(rate: number | undefined, options: ReadStateMachineProviderOptions): number | undefined {
  if (rate === undefined || options.rate !== 'seconds-between-calls') return rate && Math.max(0, rate);
  return rate > 0 ? 1 / rate : undefined;
}

function secondsOr(value: Json | undefined, defaultMs: number): number {
  const seconds = numberOf(value);
  return seconds === undefined ? defaultMs : seconds * 1_000;
}

function booleanOr(value: Json | undefined, otherwise: boolean): boolean {
  return typeof value === 'boolean' ? value : otherwise;
}
