import { createHash } from 'node:crypto';
import { mapOf, mapsOf, numberOf, textOf, textsOf, type JsonObject, type Json } from '@nodepool/zk-protocol';
import {
  readStateMachineProvider,
  type CloudImageConfig,
  type ProviderConfigContext,
  type ProviderDiskimageConfig,
  type StateMachineLabelConfig,
  type StateMachinePoolConfig,
  type StateMachineProviderConfig,
} from '@nodepool/core';
import { findCloud, type CloudFileCache, type FoundCloud } from './find-cloud.js';
import { problemOfTemplate } from './fill-template.js';
import { problemOfUserData } from './user-data.js';

/** An existing image of the cloud. */
export interface OpenStackCloudImage extends CloudImageConfig {
  /** Used without a lookup. */
  readonly imageId: string | undefined;
  /** Name or id; default: the name of the entry. */
  readonly imageName: string;
  readonly configDrive: boolean;
}

/** A managed image. */
export interface OpenStackDiskimage extends ProviderDiskimageConfig {
  readonly configDrive: boolean;
}

/** A label. */
export interface OpenStackLabel extends StateMachineLabelConfig {
  /** MiB; `0`: any. */
  readonly minRamMib: number;
  /** Exact name; with `minRamMib`, a part of the name. */
  readonly flavorName: string | undefined;
  readonly keyName: string | undefined;
  readonly userData: string | undefined;
  /** Names or ids; `undefined`: the networks of the pool. */
  readonly networks: readonly string[] | undefined;
  readonly bootFromVolume: boolean;
  readonly volumeGb: number;
  readonly volumeType: string | undefined;
  /** Name or id. */
  readonly serverGroup: string | undefined;
  readonly instanceProperties: Readonly<Record<string, string>>;
  /** Templates, see `fillTemplate`. */
  readonly dynamicProperties: Readonly<Record<string, string>>;
  /** Whether only host keys that cloud-init prints on the console are accepted. */
  readonly hostKeysFromConsole: boolean;
}

/** A pool. */
export interface OpenStackPool extends StateMachinePoolConfig {
  readonly labels: ReadonlyMap<string, OpenStackLabel>;
  readonly networks: readonly string[];
  readonly securityGroups: readonly string[];
  readonly autoFloatingIp: boolean;
  /** Name or id of the network of floating IPs; `undefined`: the only one. */
  readonly floatingIpPool: string | undefined;
}

/** Typed form of a provider entry. */
export interface OpenStackProvider extends StateMachineProviderConfig, FoundCloud {
  readonly pools: ReadonlyMap<string, OpenStackPool>;
  readonly cloudImages: ReadonlyMap<string, OpenStackCloudImage>;
  readonly diskimages: ReadonlyMap<string, OpenStackDiskimage>;
  readonly cloud: string;
  /** `region-name`; `undefined`: the region of the cloud, not stored in records. */
  readonly region: string | undefined;
  /** Calls per second to each service; `undefined`: no limit. */
  readonly callsPerSecond: number | undefined;
  readonly cleanFloatingIps: boolean;
  /** `0`: never. */
  readonly portCleanupMs: number;
  readonly imageUploadTimeoutMs: number;
}

const DEFAULT_RATE_S = 1;
const DEFAULT_VOLUME_GB = 50;
const DEFAULT_PORT_CLEANUP_S = 600;
const DEFAULT_UPLOAD_TIMEOUT_S = 3_600;

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(
  entry: JsonObject,
  context: ProviderConfigContext,
  files: CloudFileCache,
): OpenStackProvider {
  const cloud = textOf(entry['cloud']) ?? '';
  const region = textOf(entry['region-name']);
  const found = findCloud(files, cloud, region, context);
  const { settings } = found;
  const common = readStateMachineProvider(entry, {
    driverName: 'openstack',
    managesImages: true,
    ...(settings && { imageFormat: settings.imageFormat }),
    diskimages: context.diskimages,
  });
  const rateSeconds = numberOf(entry['rate']) ?? DEFAULT_RATE_S;
  warnOfOldKeys(entry, context);
  checkLabels(entry, context);
  return {
    ...common,
    // this driver limits the rate of each service itself
    requestsPerSecond: undefined,
    pools: completed(entry['pools'], common.pools, readPool),
    cloudImages: completed(entry['cloud-images'], common.cloudImages, readCloudImage),
    diskimages: completed(entry['diskimages'], common.diskimages, readDiskimage),
    cloud,
    region,
    ...found,
    // A changed clouds.yaml replaces the provider.
    equalityExtra: settings ? createHash('sha256').update(JSON.stringify(settings)).digest('hex') : null,
    callsPerSecond: rateSeconds > 0 ? 1 / rateSeconds : undefined,
    cleanFloatingIps: entry['clean-floating-ips'] === true,
    portCleanupMs: Math.max(0, numberOf(entry['port-cleanup-interval']) ?? DEFAULT_PORT_CLEANUP_S) * 1_000,
    imageUploadTimeoutMs: (numberOf(entry['image-upload-timeout']) ?? DEFAULT_UPLOAD_TIMEOUT_S) * 1_000,
  };
}

function warnOfOldKeys(entry: JsonObject, context: ProviderConfigContext): void {
  if (entry['nodepool-id'] !== undefined) {
    context.problem(['nodepool-id'], 'nodepool-id has no effect: remove it', 'warning');
  }
  if (entry['clean-floating-ips'] === true) {
    const message =
      'clean-floating-ips deletes every floating IP of the project that is not attached, of any owner: use it ' +
      'only in a dedicated project. Floating IPs of nodepool are deleted without it';
    context.problem(['clean-floating-ips'], message, 'warning');
  }
}

/**
 * Warns about user data that Nova refuses, and about a property that cannot be filled in: each launch omits it, as the Python
 * implementation does.
 */
function checkLabels(entry: JsonObject, context: ProviderConfigContext): void {
  for (const [poolIndex, pool] of mapsOf(entry['pools']).entries()) {
    for (const [labelIndex, label] of mapsOf(pool['labels']).entries()) {
      const tooLong = problemOfUserData(textOf(label['userdata']));
      const place = ['pools', poolIndex, 'labels', labelIndex, 'userdata'];
      if (tooLong !== undefined) context.problem(place, `${tooLong}; the label cannot be used`, 'warning');
      for (const [key, template] of Object.entries(textValues(mapOf(label['dynamic-instance-properties'])))) {
        const problem = problemOfTemplate(template);
        const path = ['pools', poolIndex, 'labels', labelIndex, 'dynamic-instance-properties', key];
        if (problem !== undefined) context.problem(path, `${problem}: instances do not get this property`, 'warning');
      }
    }
  }
}

function readPool(pool: StateMachinePoolConfig, entry: JsonObject): OpenStackPool {
  const zones = Array.isArray(entry['availability-zones']) ? entry['availability-zones'] : [];
  const azs = zones.filter((zone) => typeof zone === 'string' || zone === null);
  return {
    ...pool,
    azs: azs.length > 0 ? azs : undefined,
    labels: completed(entry['labels'], pool.labels, readLabel),
    networks: networksOf(entry['networks']),
    securityGroups: textsOf(entry['security-groups']),
    autoFloatingIp: entry['auto-floating-ip'] !== false,
    floatingIpPool: textOf(entry['floating-ip-pool']),
  };
}

/** Networks by name or id. Files of 2016 have maps: `name`, `net-label` or `net-id`. */
function networksOf(value: Json | undefined): string[] {
  const keys = ['name', 'id', 'net-label', 'net-id', 'uuid'];
  const list = Array.isArray(value) ? value : [];
  return textsOf(list.map((one) => keys.map((key) => mapOf(one)[key]).find((name) => name !== undefined) ?? one));
}

function readLabel(label: StateMachineLabelConfig, entry: JsonObject): OpenStackLabel {
  return {
    ...label,
    minRamMib: numberOf(entry['min-ram']) ?? 0,
    flavorName: textOf(entry['flavor-name']),
    keyName: textOf(entry['key-name']),
    userData: textOf(entry['userdata']),
    networks: entry['networks'] === undefined ? undefined : networksOf(entry['networks']),
    bootFromVolume: entry['boot-from-volume'] === true,
    volumeGb: numberOf(entry['volume-size']) ?? DEFAULT_VOLUME_GB,
    volumeType: textOf(entry['volume-type']),
    serverGroup: textOf(entry['server-group']),
    instanceProperties: textValues(mapOf(entry['instance-properties'])),
    dynamicProperties: textValues(mapOf(entry['dynamic-instance-properties'])),
    hostKeysFromConsole: entry['host-keys-from-console'] === true,
  };
}

function readCloudImage(image: CloudImageConfig, entry: JsonObject): OpenStackCloudImage {
  return {
    ...image,
    imageId: textOf(entry['image-id']),
    imageName: textOf(entry['image-name']) ?? image.name,
    configDrive: entry['config-drive'] === true,
  };
}

function readDiskimage(image: ProviderDiskimageConfig, entry: JsonObject): OpenStackDiskimage {
  return { ...image, configDrive: entry['config-drive'] === true };
}

/** The values of a map as strings; other values as JSON. */
function textValues(values: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** Extends the entries that core has read with the keys of this driver. */
function completed<Common, Own extends Common>(
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
