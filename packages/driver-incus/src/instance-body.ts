import { ConfigError, type CreateOrder, type JsonObject } from '@nodepool/core';
import type { Devices, IncusImageConfig, IncusLabelConfig, IncusPoolConfig } from './config.js';
import { asKeys, ATTEMPT_KEY } from './ownership.js';

/** Parts of the body of a creation. */
export interface BodyOptions {
  readonly order: Pick<CreateOrder<IncusLabelConfig, IncusPoolConfig>, 'label' | 'metadata' | 'imageExternalId'>;
  readonly name: string;
  readonly attempt: string;
  /** Image of a label with a `cloud-image`. */
  readonly image: IncusImageConfig | undefined;
  readonly start: boolean;
}

/** The body of a creation. */
export function instanceBody({ order, name, attempt, image, start }: BodyOptions): JsonObject {
  const { label, metadata, imageExternalId } = order;
  const config = {
    ...label.config,
    ...(label.cpus !== undefined && { 'limits.cpu': String(label.cpus) }),
    ...(label.memoryMib !== undefined && { 'limits.memory': `${label.memoryMib}MiB` }),
    ...(label.nesting && { 'security.nesting': 'true' }),
    ...(label.userData !== undefined && { 'cloud-init.user-data': label.userData }),
    ...asKeys(metadata),
    [ATTEMPT_KEY]: attempt,
  };
  // a copy has no profiles but those of the call
  const profiles = label.profiles ?? (label.cloneFrom === undefined ? undefined : ['default']);
  return {
    name,
    type: label.type,
    ephemeral: label.ephemeral,
    config,
    devices: devicesOf(label),
    ...(profiles !== undefined && { profiles: [...profiles] }),
    ...(start && { start: true }),
    source: sourceOf(label, image, imageExternalId),
  };
}

function sourceOf(
  label: IncusLabelConfig,
  image: IncusImageConfig | undefined,
  uploaded: string | undefined,
): JsonObject {
  if (label.cloneFrom !== undefined) return { type: 'copy', source: label.cloneFrom, instance_only: true };
  if (uploaded !== undefined) return { type: 'image', fingerprint: uploaded };
  if (!image) throw new ConfigError(`label "${label.name}": there is no cloud image "${label.cloudImage}"`);
  const { alias, fingerprint, server, protocol } = image;
  return {
    type: 'image',
    ...(fingerprint === undefined ? { alias } : { fingerprint }),
    ...(server !== undefined && { mode: 'pull', server, protocol }),
  };
}

/** Devices of the label; its `network`, `storage-pool` and `disk` as the devices that profiles usually have. */
function devicesOf({ name, network, storagePool, diskGib, devices }: IncusLabelConfig): Devices {
  if (diskGib !== undefined && storagePool === undefined && !('root' in devices)) {
    const nextStep = 'set "storage-pool" of the label, the pool or the provider';
    throw new ConfigError(`label "${name}": "disk" needs a storage pool: ${nextStep}`, [], {
      reason: 'StoragePoolMissing',
      nextStep,
    });
  }
  return {
    ...(network !== undefined && { eth0: { type: 'nic', name: 'eth0', network } }),
    ...(storagePool !== undefined && {
      root: { type: 'disk', path: '/', pool: storagePool, ...(diskGib !== undefined && { size: `${diskGib}GiB` }) },
    }),
    ...devices,
  };
}
