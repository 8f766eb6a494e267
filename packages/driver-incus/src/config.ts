import type { CloudImageConfig, Json, JsonObject, ProviderConfigContext } from '@nodepool/core';
import {
  readStateMachineProvider,
  type StateMachineLabelConfig,
  type StateMachinePoolConfig,
  type StateMachineProviderConfig,
} from '@nodepool/core';
import type { ConnectionConfig } from './transport.js';

/** Type of instances. */
export type InstanceType = 'container' | 'virtual-machine';

/** Devices of an instance, by name. */
export type Devices = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** An image: local, or of a remote server. */
export interface IncusImageConfig extends CloudImageConfig {
  readonly alias: string;
  readonly fingerprint: string | undefined;
  readonly server: string | undefined;
  readonly protocol: string;
}

/** A label of a pool. */
export interface IncusLabelConfig extends StateMachineLabelConfig {
  readonly type: InstanceType;
  /** Source of copies: `INSTANCE` or `INSTANCE/SNAPSHOT`. */
  readonly cloneFrom: string | undefined;
  /** Login of copies, which have no image that tells it. */
  readonly username: string | undefined;
  readonly cpus: number | undefined;
  readonly memoryMib: number | undefined;
  readonly diskGib: number | undefined;
  /** `undefined`: the default profile. */
  readonly profiles: readonly string[] | undefined;
  readonly network: string | undefined;
  readonly storagePool: string | undefined;
  readonly devices: Devices;
  readonly config: Readonly<Record<string, string>>;
  readonly userData: string | undefined;
  readonly nesting: boolean;
  readonly ephemeral: boolean;
}

/** A pool with its labels. */
export interface IncusPoolConfig extends StateMachinePoolConfig {
  readonly labels: ReadonlyMap<string, IncusLabelConfig>;
}

/** Typed form of a provider entry. */
export interface IncusProviderConfig extends StateMachineProviderConfig {
  readonly pools: ReadonlyMap<string, IncusPoolConfig>;
  readonly cloudImages: ReadonlyMap<string, IncusImageConfig>;
  readonly connection: ConnectionConfig;
  readonly project: string;
  /** Type of uploaded images. */
  readonly imageType: InstanceType;
  readonly imageUploadTimeoutMs: number;
  /** CPUs to promise for each CPU of the servers. */
  readonly cpuOvercommit: number;
  /** MiB to promise for each MiB of the servers. */
  readonly memoryOvercommit: number;
}

const MAX_PARALLEL_CALLS = 40;
const CPU_OVERCOMMIT = 4;
const MEMORY_OVERCOMMIT = 1;
const UPLOAD_TIMEOUT_S = 3_600;

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): IncusProviderConfig {
  const type = typeOf(entry['type']) ?? 'container';
  const common = readStateMachineProvider(entry, {
    driverName: 'incus',
    managesImages: true,
    imageFormat: type === 'container' ? 'tar' : 'qcow2',
    diskimages: context.diskimages,
  });
  const connection = readConnection(entry, context);
  checkEphemeral(entry, context);
  return {
    ...common,
    maxParallelCalls: MAX_PARALLEL_CALLS,
    cloudImages: complete(entry['cloud-images'], common.cloudImages, readImage),
    pools: complete(entry['pools'], common.pools, (pool, ofPool) => ({
      ...pool,
      labels: complete(ofPool['labels'], pool.labels, (label, own) =>
        readLabel(label, own, { ...entry, ...ofPool }, type),
      ),
    })),
    connection,
    secretFiles: connection.clientKey === undefined ? [] : [connection.clientKey],
    project: textOf(entry['project']) ?? 'default',
    imageType: type,
    imageUploadTimeoutMs: (numberOf(entry['image-upload-timeout']) ?? UPLOAD_TIMEOUT_S) * 1_000,
    cpuOvercommit: numberOf(entry['cpu-overcommit']) ?? CPU_OVERCOMMIT,
    memoryOvercommit: numberOf(entry['memory-overcommit']) ?? MEMORY_OVERCOMMIT,
  };
}

/** Ephemeral instances are deleted when they stop. */
function checkEphemeral(entry: JsonObject, context: ProviderConfigContext): void {
  for (const [i, pool] of mapsIn(entry['pools'])) {
    for (const [j, label] of mapsIn(pool['labels'])) {
      if (label['ephemeral'] !== true || context.labels.get(textOf(label['name']) ?? '')?.keep !== 'stopped') continue;
      const path = ['pools', i, 'labels', j, 'ephemeral'];
      context.problem(
        path,
        'an ephemeral instance is deleted when it stops, and its label has "keep: stopped"',
        'error',
      );
    }
  }
}

function readConnection(entry: JsonObject, context: ProviderConfigContext): ConnectionConfig {
  const address = textOf(entry['address']);
  const files = {
    clientCertificate: textOf(entry['client-certificate']),
    clientKey: textOf(entry['client-key']),
    serverCertificate: textOf(entry['server-certificate']),
    trustToken: textOf(entry['trust-token']),
  };
  const isRemote = address?.startsWith('https:') === true;
  if (isRemote && (files.clientCertificate === undefined || files.clientKey === undefined)) {
    context.problem(['address'], 'an https address needs client-certificate and client-key', 'error');
  }
  const given = Object.entries(files).filter(([, value]) => value !== undefined);
  if (!isRemote && given.length > 0) {
    context.problem(['address'], 'certificates and trust-token have no effect on a Unix socket', 'warning');
  }
  return { address, ...files };
}

function readImage(image: CloudImageConfig, own: JsonObject): IncusImageConfig {
  return {
    ...image,
    alias: textOf(own['image-alias']) ?? image.name,
    fingerprint: textOf(own['image-fingerprint']),
    server: textOf(own['image-server']),
    protocol: textOf(own['image-protocol']) ?? 'simplestreams',
  };
}

function readLabel(
  label: StateMachineLabelConfig,
  own: JsonObject,
  outer: JsonObject,
  type: InstanceType,
): IncusLabelConfig {
  const devices = isMap(own['devices']) ? Object.entries(own['devices']) : [];
  return {
    ...label,
    type: typeOf(own['type']) ?? type,
    cloneFrom: textOf(own['clone-from']),
    username: textOf(own['username']),
    cpus: numberOf(own['cpu']),
    memoryMib: numberOf(own['memory']),
    diskGib: numberOf(own['disk']),
    profiles: Array.isArray(own['profiles']) ? textsOf(own['profiles']) : undefined,
    network: textOf(own['network'] ?? outer['network']),
    storagePool: textOf(own['storage-pool'] ?? outer['storage-pool']),
    devices: Object.fromEntries(
      devices.flatMap(([name, device]) => (isMap(device) ? [[name, textValues(device)]] : [])),
    ),
    config: isMap(own['config']) ? textValues(own['config']) : {},
    userData: textOf(own['user-data']),
    nesting: own['nesting'] === true,
    ephemeral: own['ephemeral'] === true,
  };
}

/** Extends the entries that core has read with the keys of this driver. */
function complete<Common, Own extends Common>(
  list: Json | undefined,
  common: ReadonlyMap<string, Common>,
  read: (known: Common, own: JsonObject) => Own,
): Map<string, Own> {
  const entries = Array.isArray(list) ? list.filter(isMap) : [];
  return new Map(
    entries.flatMap((own): [string, Own][] => {
      const name = textOf(own['name']) ?? '';
      const known = common.get(name);
      return known === undefined ? [] : [[name, read(known, own)]];
    }),
  );
}

function typeOf(value: Json | undefined): InstanceType | undefined {
  return value === 'container' || value === 'virtual-machine' ? value : undefined;
}

/** The API takes all values as text. */
function textValues(map: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? [[key, String(value)]]
        : [],
    ),
  );
}

function textsOf(value: Json[]): string[] {
  return value.filter((one) => typeof one === 'string');
}

function mapsIn(list: Json | undefined): (readonly [number, JsonObject])[] {
  return (Array.isArray(list) ? [...list.entries()] : []).flatMap(([index, value]) =>
    isMap(value) ? [[index, value] as const] : [],
  );
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
