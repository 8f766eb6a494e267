import { isMap, mapsOf, numberOf, textOf } from '@nodepool/zk-protocol';
import type { CloudImageConfig, Json, JsonObject, ProviderConfigContext } from '@nodepool/core';
import {
  readStateMachineProvider,
  type StateMachineLabelConfig,
  type StateMachinePoolConfig,
  type StateMachineProviderConfig,
} from '@nodepool/core';

/** An image: by its path, or the newest of a family. */
export interface GceImageConfig extends CloudImageConfig {
  readonly imageId: string | undefined;
  readonly imageProject: string;
  readonly imageFamily: string;
}

/** A label of a pool, with the defaults of the pool. */
export interface GceLabelConfig extends StateMachineLabelConfig {
  /** In order of preference. */
  readonly machineTypes: readonly string[];
  readonly volumeType: string;
  readonly volumeGib: number;
  readonly spot: boolean;
  readonly maxRunSeconds: number | undefined;
  readonly userData: string | undefined;
  readonly overrides: JsonObject;
  readonly network: string | undefined;
  readonly subnetwork: string | undefined;
  readonly networkTags: readonly string[];
  readonly externalIp: boolean;
  readonly serviceAccount: string | undefined;
  readonly scopes: readonly string[];
  /** Whether host keys come from guest attributes. If so, core does not scan: `hostKeyChecking` is false. */
  readonly guestHostKeys: boolean;
}

/** A pool with its labels. */
export interface GcePoolConfig extends StateMachinePoolConfig {
  readonly labels: ReadonlyMap<string, GceLabelConfig>;
}

/** Typed form of a provider entry. */
export interface GceProviderConfig extends StateMachineProviderConfig {
  readonly pools: ReadonlyMap<string, GcePoolConfig>;
  readonly cloudImages: ReadonlyMap<string, GceImageConfig>;
  readonly project: string;
  readonly region: string;
  /** Empty: all zones of the region. */
  readonly zones: readonly string[];
  readonly endpoint: string;
  readonly credentials: string | undefined;
}

const RATE = 2;
const MAX_PARALLEL_CALLS = 50;
const CLOUD_PLATFORM = 'https://www.googleapis.com/auth/cloud-platform';
/** https://cloud.google.com/compute/docs/regions-zones: a zone is its region and a letter. */
const LETTER = /^-[a-z]+$/;

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): GceProviderConfig {
  const common = readStateMachineProvider(entry, { driverName: 'gce' });
  const region = textOf(entry['region']) ?? '';
  const zones = textsOf(entry['zone']);
  if (zones.some((zone) => !zone.startsWith(region) || !LETTER.test(zone.slice(region.length)))) {
    context.problem(['zone'], `expected zones of region "${region}", such as "${region}-a"`, 'warning');
  }
  const cloudImages = complete(entry['cloud-images'], common.cloudImages, readImage);
  checkImages(entry, context);
  return {
    ...common,
    requestsPerSecond: common.requestsPerSecond ?? RATE,
    maxParallelCalls: MAX_PARALLEL_CALLS,
    cloudImages,
    pools: complete(entry['pools'], common.pools, (pool, own) => ({
      ...pool,
      labels: complete(own['labels'], pool.labels, (label, ofLabel) => readLabel(label, ofLabel, own)),
    })),
    project: textOf(entry['project']) ?? '',
    region,
    zones,
    endpoint: textOf(entry['endpoint']) ?? 'https://compute.googleapis.com/compute/v1',
    ...credentialsOf(textOf(entry['credentials'])),
  };
}

function credentialsOf(credentials: string | undefined) {
  return { credentials, secretFiles: credentials === undefined ? [] : [credentials] };
}

function checkImages(entry: JsonObject, context: ProviderConfigContext): void {
  for (const [index, image] of mapsOf(entry['cloud-images']).entries()) {
    if ('image-id' in image || ('image-project' in image && 'image-family' in image)) continue;
    const what = `cloud image "${textOf(image['name'])}" names no image`;
    const remedy = 'give it an image-id, or an image-project and an image-family';
    context.problem(['cloud-images', index], `${what}, so that its labels cannot be launched: ${remedy}`, 'warning');
  }
}

function readImage(image: CloudImageConfig, own: JsonObject): GceImageConfig {
  return {
    ...image,
    imageId: textOf(own['image-id']),
    imageProject: textOf(own['image-project']) ?? '',
    imageFamily: textOf(own['image-family']) ?? '',
  };
}

function readLabel(label: StateMachineLabelConfig, own: JsonObject, pool: JsonObject): GceLabelConfig {
  const either = (key: string): Json | undefined => own[key] ?? pool[key];
  const scopes = textsOf(either('scopes'));
  const guestHostKeys = label.hostKeyChecking && either('host-key-source') === 'guest-attributes';
  return {
    ...label,
    hostKeyChecking: label.hostKeyChecking && !guestHostKeys,
    guestHostKeys,
    machineTypes: textsOf(own['instance-type']),
    volumeType: textOf(own['volume-type']) ?? 'pd-standard',
    volumeGib: numberOf(own['volume-size']) ?? 10,
    spot: own['spot'] === true,
    maxRunSeconds: numberOf(own['max-run-duration']),
    userData: textOf(own['user-data']),
    overrides: isMap(own['instance-overrides']) ? own['instance-overrides'] : {},
    network: textOf(either('network')),
    subnetwork: textOf(either('subnetwork')),
    networkTags: textsOf(either('network-tags')),
    externalIp: either('external-ip') !== false,
    serviceAccount: textOf(either('service-account')),
    scopes: scopes.length > 0 ? scopes : [CLOUD_PLATFORM],
  };
}

/** Extends the entries that core has read with the keys of this driver. */
function complete<Common, Own extends Common>(
  list: Json | undefined,
  common: ReadonlyMap<string, Common>,
  read: (known: Common, own: JsonObject) => Own,
): Map<string, Own> {
  return new Map(
    mapsOf(list).flatMap((own): [string, Own][] => {
      const name = textOf(own['name']) ?? '';
      const known = common.get(name);
      return known === undefined ? [] : [[name, read(known, own)]];
    }),
  );
}

/** A string, or a list of strings. */
function textsOf(value: Json | undefined): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
