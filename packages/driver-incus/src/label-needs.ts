import { ConfigError } from '@nodepool/core';
import type { IncusClient } from './client.js';
import type { IncusLabelConfig, IncusProviderConfig } from './config.js';

type Kind = Parameters<IncusClient['has']>[0];

/** One object that has to exist. */
interface Need {
  readonly kind: Kind;
  /** Below the kind. */
  readonly path: string;
  /** What it is, as a person would name it. */
  readonly what: string;
  /** Of the condition. */
  readonly reason: string;
  readonly nextStep: string;
}

/**
 * Asks the daemon for all that a label names. An image of a remote server is fetched when it is needed, and those of builders are known.
 * @throws {ConfigError} one is missing; says which
 */
export async function checkLabel(
  label: IncusLabelConfig,
  config: Pick<IncusProviderConfig, 'cloudImages' | 'project'>,
  client: Pick<IncusClient, 'has'>,
  signal: AbortSignal,
): Promise<void> {
  const needs = needsOf(label, config.cloudImages);
  const found = await Promise.all(needs.map(({ kind, path }) => client.has(kind, path, signal)));
  const missing = needs.find((_, i) => found[i] === false);
  if (!missing) return;
  const { what, reason, nextStep } = missing;
  const where = missing.kind === 'storage-pools' ? '' : ` in the project "${config.project}"`;
  throw new ConfigError(`label "${label.name}": there is no ${what}${where}: ${nextStep}`, [], { reason, nextStep });
}

function needsOf(label: IncusLabelConfig, images: IncusProviderConfig['cloudImages']): Need[] {
  const { profiles = [], network, storagePool } = label;
  return [
    ...sourceOf(label, images),
    ...profiles.map((name) => named('profiles', name, 'profile', 'correct "profiles" ("profile list" shows all)')),
    ...given(network).map((name) => named('networks', name, 'network', 'correct "network" ("network list" shows all)')),
    ...given(storagePool).map((name) =>
      named('storage-pools', name, 'storage pool', 'correct "storage-pool" ("storage list" shows all)'),
    ),
  ];
}

function sourceOf(
  { cloneFrom, cloudImage = '' }: IncusLabelConfig,
  images: IncusProviderConfig['cloudImages'],
): Need[] {
  if (cloneFrom !== undefined) {
    const [name = '', snapshot] = cloneFrom.split('/').map(encodeURIComponent);
    return [
      {
        ...{ kind: 'instances', path: snapshot === undefined ? name : `${name}/snapshots/${snapshot}` },
        ...{ what: `instance or snapshot "${cloneFrom}"`, reason: 'SourceMissing' },
        nextStep: 'correct "clone-from", INSTANCE or INSTANCE/SNAPSHOT ("list" shows all)',
      },
    ];
  }
  const image = images.get(cloudImage);
  if (!image || image.server !== undefined) return [];
  const { alias, fingerprint } = image;
  return [
    {
      ...{ kind: 'images', path: fingerprint ?? `aliases/${encodeURIComponent(alias)}` },
      ...{ what: `image "${fingerprint ?? alias}"`, reason: 'ImageMissing' },
      nextStep: 'import it there, or correct "image-alias" ("image list" shows all)',
    },
  ];
}

const REASONS = { profiles: 'ProfileMissing', networks: 'NetworkMissing', 'storage-pools': 'StoragePoolMissing' };

function named(kind: keyof typeof REASONS, name: string, noun: string, nextStep: string): Need {
  const reason = REASONS[kind];
  return { kind, path: encodeURIComponent(name), what: `${noun} "${name}"`, reason, nextStep };
}

function given(name: string | undefined): string[] {
  return name === undefined ? [] : [name];
}
