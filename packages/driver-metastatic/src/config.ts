import { readCommonPool, readCommonProvider } from '@nodepool/core';
import type { PoolConfig, PoolLabelConfig, ProviderConfig, ProviderConfigContext } from '@nodepool/core';
import { mapsOf, numberOf, textOf, type JsonObject } from '@nodepool/zk-protocol';

/** Keys below a provider entry. */
type Path = readonly (string | number)[];

/** Slots and retention of the backing nodes of a label. */
export interface BackingSettings {
  /** The label whose nodes are divided into slots. */
  readonly backingLabel: string;
  /** Slots of a new backing node. */
  readonly maxParallelJobs: number;
  /** Time until a backing node without a slot in use is returned. */
  readonly graceTimeMs: number;
  /** Minimum time before it is returned. */
  readonly minRetentionTimeMs: number;
  /** Age from which it gets no more jobs. `undefined`: no limit. */
  readonly maxAgeMs: number | undefined;
}

/** A label of a pool. */
export interface MetastaticLabelConfig extends PoolLabelConfig, BackingSettings {
  /** Whether SSH host keys are read each time a slot is assigned. */
  readonly hostKeyChecking: boolean;
  /** Its path in the provider entry. */
  readonly path: Path;
}

/** A pool of a provider of this driver. */
export interface MetastaticPoolConfig extends PoolConfig {
  readonly labels: ReadonlyMap<string, MetastaticLabelConfig>;
}

/** Typed form of a provider entry of this driver. */
export interface MetastaticProviderConfig extends ProviderConfig {
  readonly pools: ReadonlyMap<string, MetastaticPoolConfig>;
  /** Time limit of one launch attempt, including the launch of a backing node. */
  readonly launchTimeoutMs: number;
  /** Time limit of one key scan. */
  readonly bootTimeoutMs: number;
  /** Attempts before a launch fails. */
  readonly launchRetries: number;
}

/** Whether a label belongs to this driver. */
export function isMetastaticLabel(label: PoolLabelConfig): label is MetastaticLabelConfig {
  return 'backingLabel' in label && 'maxParallelJobs' in label;
}

/** Settings of a label, from the first pool that has it, as all pools must agree. */
export function settingsOf(config: MetastaticProviderConfig, label: string): BackingSettings | undefined {
  for (const pool of config.pools.values()) {
    const found = pool.labels.get(label);
    if (found) return found;
  }
  return undefined;
}

interface Seen {
  readonly place: string;
  readonly settings: BackingSettings;
}

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): MetastaticProviderConfig {
  const common = readCommonProvider(entry, 'metastatic');
  const pools = new Map<string, MetastaticPoolConfig>();
  const check = new AgreementCheck(context);
  mapsOf(entry['pools']).forEach((pool, index) => {
    const labels = new Map<string, MetastaticLabelConfig>();
    const { name, ...rest } = readCommonPool(pool, common);
    mapsOf(pool['labels']).forEach((raw, labelIndex) => {
      const path = ['pools', index, 'labels', labelIndex];
      const label = readLabel(raw, pool, path);
      checkLabel(label, path, context);
      check.label(label, name, path);
      labels.set(label.name, label);
    });
    pools.set(name, { name, ...rest, labels, maxResources: {}, azs: undefined });
  });
  return {
    ...common,
    pools,
    managesImages: false,
    launchTimeoutMs: (numberOf(entry['launch-timeout']) ?? 3600) * 1000,
    bootTimeoutMs: (numberOf(entry['boot-timeout']) ?? 120) * 1000,
    launchRetries: Math.max(1, numberOf(entry['launch-retries']) ?? 3),
  };
}

function readLabel(label: JsonObject, pool: JsonObject, path: Path): MetastaticLabelConfig {
  const maxAge = label['max-age'];
  return {
    name: textOf(label['name']) ?? '',
    backingLabel: textOf(label['backing-label']) ?? '',
    maxParallelJobs: numberOf(label['max-parallel-jobs']) ?? 1,
    graceTimeMs: Math.max(0, numberOf(label['grace-time']) ?? 60) * 1000,
    minRetentionTimeMs: Math.max(0, numberOf(label['min-retention-time']) ?? 0) * 1000,
    maxAgeMs: typeof maxAge === 'number' && maxAge > 0 ? maxAge * 1000 : undefined,
    hostKeyChecking: (label['host-key-checking'] ?? pool['host-key-checking']) === true,
    path,
  };
}

function checkLabel(label: MetastaticLabelConfig, path: Path, context: ProviderConfigContext): void {
  const { name, backingLabel, maxAgeMs, minRetentionTimeMs } = label;
  if (backingLabel === name) {
    context.problem(
      [...path, 'backing-label'],
      `label "${name}" cannot be its own backing label: name a label of another provider`,
    );
  } else if (!context.labels.has(backingLabel)) {
    context.problem(
      [...path, 'backing-label'],
      `backing label "${backingLabel}" is not in the top-level "labels" list of this file: ` +
        'requests for it fail unless other launchers serve it',
      'warning',
    );
  }
  if (maxAgeMs !== undefined && maxAgeMs < minRetentionTimeMs) {
    context.problem(
      [...path, 'max-age'],
      `max-age ${maxAgeMs / 1000} of label "${name}" is less than its min-retention-time ${minRetentionTimeMs / 1000}: ` +
        'raise max-age or lower min-retention-time',
    );
  }
}

/** Settings of backing nodes by their key in the file. */
const SHARED = {
  'backing-label': (settings: BackingSettings) => settings.backingLabel,
  'max-parallel-jobs': (settings: BackingSettings) => settings.maxParallelJobs,
  'grace-time': (settings: BackingSettings) => settings.graceTimeMs / 1000,
  'min-retention-time': (settings: BackingSettings) => settings.minRetentionTimeMs / 1000,
  'max-age': (settings: BackingSettings) => (settings.maxAgeMs === undefined ? 'none' : settings.maxAgeMs / 1000),
} as const;

/** Checks that labels with the same name or backing label have the same settings of backing nodes. */
class AgreementCheck {
  readonly #byName = new Map<string, Seen>();
  readonly #byBackingLabel = new Map<string, Seen>();

  constructor(private readonly context: ProviderConfigContext) {}

  label(label: MetastaticLabelConfig, pool: string, path: Path): void {
    const seen: Seen = { place: `label "${label.name}" of pool "${pool}"`, settings: label };
    const sameName = this.#byName.get(label.name);
    const sameBacking = this.#byBackingLabel.get(label.backingLabel);
    const other = sameName ?? sameBacking;
    if (other) this.#compare(label, other, path);
    if (!sameName) this.#byName.set(label.name, seen);
    if (!sameBacking) this.#byBackingLabel.set(label.backingLabel, seen);
  }

  #compare(label: MetastaticLabelConfig, other: Seen, path: Path): void {
    for (const [key, read] of Object.entries(SHARED)) {
      const [own, theirs] = [read(label), read(other.settings)];
      if (own === theirs) continue;
      this.context.problem(
        [...path, key],
        `${key} is ${own} here but ${theirs} in ${other.place}, which uses the same backing nodes: set both to the same value`,
      );
    }
  }
}
