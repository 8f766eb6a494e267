import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { readCommonPool, readCommonProvider } from '@nodepool/core';
import type {
  CloudImageConfig,
  ImageConnection,
  ProviderConfigContext,
  ProviderDiskimageConfig,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from '@nodepool/core';
import { readSettings } from './cloud/settings.js';
import { addressOf, defaultCloudDir } from './server/address.js';

/** An image that is already in the cloud. */
export interface FakeCloudImageConfig extends CloudImageConfig {
  /** Taken as it is, without asking the cloud. */
  readonly imageId: string | undefined;
  /** Id or name; that of the entry when nothing else is given. */
  readonly imageName: string;
}

/** A label: how large its instances are, and of which image. */
export interface FakeLabelConfig extends StateMachineLabelConfig {
  /** MiB; `0`: not asked for. */
  readonly minRam: number;
  /** Exactly, or a part of the name beside `minRam`. */
  readonly flavorName: string | undefined;
  /** Further tags of its instances. */
  readonly instanceProperties: Readonly<Record<string, string>>;
}

/** A pool with its labels. */
export interface FakePoolConfig extends StateMachinePoolConfig {
  readonly labels: ReadonlyMap<string, FakeLabelConfig>;
}

/** Typed form of a provider entry. */
export interface FakeProviderConfig extends StateMachineProviderConfig {
  readonly pools: ReadonlyMap<string, FakePoolConfig>;
  readonly cloudImages: ReadonlyMap<string, FakeCloudImageConfig>;
  /** Providers that name the same cloud share it. */
  readonly cloud: string;
  readonly region: string | null;
  /** Where the cloud keeps its state. */
  readonly cloudDir: string;
  /** Loopback address its server listens on; `undefined`: a socket in the directory. */
  readonly listen: string | undefined;
  /** Knobs as written. */
  readonly cloudSettings: JsonObject;
}

/** Calls at the same time: enough for some hundred launches a second at an API time of a second. */
const MAX_PARALLEL_CALLS = 500;

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): FakeProviderConfig {
  const common = readCommonProvider(entry, 'fake');
  const rate = numberOr(entry['rate'], 0);
  const cloud = textOr(entry['cloud'], 'fake');
  const {
    'state-dir': stateDir,
    listen,
    'upload-images': uploadImages,
    ...cloudSettings
  } = objectOr(entry['cloud-settings']);
  const cloudDir = textOr(stateDir, undefined) ?? defaultCloudDir(cloud);
  const address = textOr(listen, undefined);
  checkCloud(cloudDir, address, cloudSettings, context);
  return {
    ...common,
    pools: new Map(
      objects(entry['pools'])
        .map((pool) => readPool(pool, common))
        .map((pool) => [pool.name, pool]),
    ),
    managesImages: uploadImages === true,
    launchTimeoutMs: numberOr(entry['launch-timeout'], 3600) * 1000,
    bootTimeoutMs: numberOr(entry['boot-timeout'], 60) * 1000,
    launchRetries: numberOr(entry['launch-retries'], 3),
    requestsPerSecond: rate > 0 ? 1 / rate : undefined,
    maxParallelCalls: MAX_PARALLEL_CALLS,
    cloudImages: new Map(
      objects(entry['cloud-images'])
        .map(readCloudImage)
        .map((image) => [image.name, image]),
    ),
    diskimages: new Map(
      objects(entry['diskimages'])
        .map((image) => readDiskimage(image, context))
        .map((image) => [image.name, image]),
    ),
    cloud,
    region: textOr(entry['region-name'], null),
    cloudDir,
    listen: address,
    cloudSettings,
  };
}

/** What the schema cannot see: the meaning of the settings. */
function checkCloud(dir: string, listen: string | undefined, settings: JsonObject, context: ProviderConfigContext) {
  for (const check of [() => void addressOf(dir, listen), () => void readSettings(settings)]) {
    try {
      check();
    } catch (error) {
      context.problem(['cloud-settings'], error instanceof Error ? error.message : String(error));
    }
  }
}

function readPool(pool: JsonObject, provider: { priority: number | undefined }): FakePoolConfig {
  const checking = pool['host-key-checking'] !== false;
  return {
    ...readCommonPool(pool, provider),
    labels: new Map(
      objects(pool['labels'])
        .map((label) => readLabel(label, checking))
        .map((one) => [one.name, one]),
    ),
    maxResources: readMaxResources(pool),
    azs: isTexts(pool['availability-zones']) ? pool['availability-zones'] : undefined,
  };
}

/** `-1` stands for "no limit", as in the quota of a cloud. */
function readMaxResources(pool: JsonObject): Record<string, number> {
  const limits = ['cores', 'ram', 'volumes', 'volume-gb'].map((name) => [name, pool[`max-${name}`]] as const);
  return Object.fromEntries(limits.filter((one): one is [string, number] => typeof one[1] === 'number' && one[1] >= 0));
}

function readLabel(label: JsonObject, hostKeyChecking: boolean): FakeLabelConfig {
  const checking = label['host-key-checking'];
  return {
    name: textOr(label['name'], ''),
    diskimage: textOr(label['diskimage'], undefined),
    cloudImage: textOr(label['cloud-image'], undefined),
    hostKeyChecking: typeof checking === 'boolean' ? checking : hostKeyChecking,
    consoleLog: label['console-log'] === true,
    minRam: numberOr(label['min-ram'], 0),
    flavorName: textOr(label['flavor-name'], undefined),
    instanceProperties: textValues(objectOr(label['instance-properties'])),
  };
}

function readCloudImage(image: JsonObject): FakeCloudImageConfig {
  const name = textOr(image['name'], '');
  const type = textOr(image['connection-type'], 'ssh');
  const connection: ImageConnection = {
    username: textOr(image['username'], null),
    pythonPath: textOr(image['python-path'], 'auto'),
    shellType: textOr(image['shell-type'], null),
    connectionType: type,
    connectionPort: numberOr(image['connection-port'], defaultPort(type)),
  };
  return {
    name,
    ...connection,
    imageId: textOr(image['image-id'], undefined),
    imageName: textOr(image['image-name'], name),
  };
}

/** Login data of the image itself, which an upload would carry, is read from where the image is defined. */
function readDiskimage(image: JsonObject, { diskimages }: ProviderConfigContext): ProviderDiskimageConfig {
  const name = textOr(image['name'], '');
  const type = textOr(image['connection-type'], 'ssh');
  const defined = diskimages.get(name);
  return {
    name,
    connectionType: type,
    connectionPort: numberOr(image['connection-port'], defaultPort(type)),
    ...(defined && {
      username: defined.username,
      pythonPath: defined.pythonPath,
      shellType: defined.shellType ?? null,
    }),
  };
}

function defaultPort(connectionType: string): number {
  return connectionType === 'winrm' ? 5986 : 22;
}

function textValues(values: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

function textOr<T extends string | null | undefined>(value: Json | undefined, fallback: T): string | T {
  return typeof value === 'string' ? value : fallback;
}

function numberOr(value: Json | undefined, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

function objectOr(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
