import { mapOf, mapsOf, numberOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { readStateMachineProvider } from '@nodepool/core';
import type {
  CloudImageConfig,
  ProviderConfigContext,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from '@nodepool/core';
import { addressOf, defaultCloudDir, readSettings } from '../cloud/index.js';

/** An existing image of the cloud. */
export interface FakeCloudImageConfig extends CloudImageConfig {
  /** Used without a lookup. */
  readonly imageId: string | undefined;
  /** Id or name; default: the name of the entry. */
  readonly imageName: string;
}

/** A label: size and image of its instances. */
export interface FakeLabelConfig extends StateMachineLabelConfig {
  /** MiB; `0`: any. */
  readonly minRam: number;
  /** Exact name; with `minRam`, a part of the name. */
  readonly flavorName: string | undefined;
  /** Additional tags of its instances. */
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
  /** Name of the cloud. Providers with the same name share it. */
  readonly cloud: string;
  readonly region: string | null;
  /** State directory of the cloud. */
  readonly cloudDir: string;
  /** Loopback address of its server; `undefined`: a socket in the directory. */
  readonly listen: string | undefined;
  /** Settings as in YAML. */
  readonly cloudSettings: JsonObject;
}

/** Concurrent calls: enough for several hundred launches a second at an API time of a second. */
const MAX_PARALLEL_CALLS = 500;

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): FakeProviderConfig {
  const cloud = textOf(entry['cloud']) ?? 'fake';
  const {
    'state-dir': stateDir,
    listen,
    'upload-images': uploadImages,
    ...cloudSettings
  } = mapOf(entry['cloud-settings']);
  const cloudDir = textOf(stateDir) ?? defaultCloudDir(cloud, context.stateDir);
  const address = textOf(listen);
  checkCloud(cloudDir, address, cloudSettings, context);
  const common = readStateMachineProvider(entry, {
    driverName: 'fake',
    rate: 'seconds-between-calls',
    managesImages: uploadImages === true,
    diskimages: context.diskimages,
  });
  const pools = named(entry['pools'], common.pools, withLabels);
  const images = named(entry['cloud-images'], common.cloudImages, withImage);
  return {
    ...common,
    pools,
    cloudImages: images,
    maxParallelCalls: MAX_PARALLEL_CALLS,
    cloud,
    region: textOf(entry['region-name']) ?? null,
    cloudDir,
    listen: address,
    cloudSettings,
  };
}

/** Checks that the schema cannot express. */
function checkCloud(dir: string, listen: string | undefined, settings: JsonObject, context: ProviderConfigContext) {
  for (const check of [() => void addressOf(dir, listen), () => void readSettings(settings)]) {
    try {
      check();
    } catch (error) {
      context.problem(['cloud-settings'], error instanceof Error ? error.message : String(error));
    }
  }
}

/** Extends the entries that core has read with the keys of this driver. */
function named<Common, Own extends Common>(
  list: Json | undefined,
  common: ReadonlyMap<string, Common>,
  complete: (known: Common, entry: JsonObject) => Own,
): Map<string, Own> {
  return new Map(
    mapsOf(list).flatMap((entry): [string, Own][] => {
      const name = textOf(entry['name']) ?? '';
      const known = common.get(name);
      return known === undefined ? [] : [[name, complete(known, entry)]];
    }),
  );
}

function withLabels(pool: StateMachinePoolConfig, entry: JsonObject): FakePoolConfig {
  return { ...pool, labels: named(entry['labels'], pool.labels, withSize) };
}

function withSize(label: StateMachineLabelConfig, entry: JsonObject): FakeLabelConfig {
  return {
    ...label,
    minRam: numberOf(entry['min-ram']) ?? 0,
    flavorName: textOf(entry['flavor-name']),
    instanceProperties: textValues(mapOf(entry['instance-properties'])),
  };
}

function withImage(image: CloudImageConfig, entry: JsonObject): FakeCloudImageConfig {
  return {
    ...image,
    imageId: textOf(entry['image-id']),
    imageName: textOf(entry['image-name']) ?? image.name,
  };
}

function textValues(values: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}
