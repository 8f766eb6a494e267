import { isDeepStrictEqual } from 'node:util';
import type { ProviderConfig } from '../contract/provider-config.js';
import type { Config } from '../contract/config.js';

/** Whether a reload can keep the provider: same driver, entry and additional values, in any order of keys. */
export function sameProviderConfig(a: ProviderConfig, b: ProviderConfig): boolean {
  return (
    a.driverName === b.driverName &&
    isDeepStrictEqual(a.entry, b.entry) &&
    isDeepStrictEqual(a.equalityExtra, b.equalityExtra)
  );
}

/**
 * Describes the changes of a reload for the log, such as `label "big" added` or `provider "x" changed`. Empty if nothing
 * changed.
 */
export function describeChange(before: Config, after: Config): string[] {
  return [
    ...describeMap('label', before.labels, after.labels, isDeepStrictEqual),
    ...describeMap('diskimage', before.diskimages, after.diskimages, isDeepStrictEqual),
    ...describeMap('provider', before.providers, after.providers, sameProviderConfig),
    ...describeMap('limits of tenant', before.tenantLimits, after.tenantLimits, isDeepStrictEqual),
    ...SETTINGS.filter((key) => !isDeepStrictEqual(before[key], after[key])).map(
      (key) => `${SETTING_NAMES[key]} changed`,
    ),
  ];
}

function describeMap<T>(
  noun: string,
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  isSame: (a: T, b: T) => boolean,
): string[] {
  const changes: string[] = [];
  for (const [name, value] of after) {
    const old = before.get(name);
    if (old === undefined) changes.push(`${noun} "${name}" added`);
    else if (!isSame(old, value)) changes.push(`${noun} "${name}" changed`);
  }
  for (const name of before.keys()) if (!after.has(name)) changes.push(`${noun} "${name}" removed`);
  return changes;
}

const SETTING_NAMES = {
  zookeeper: 'ZooKeeper settings',
  webapp: 'web server settings',
  builderWebapp: 'web server settings of builders',
  elementsDir: 'elements-dir',
  imagesDir: 'images-dir',
  buildLogDir: 'build-log-dir',
  buildLogRetention: 'build-log-retention',
  maxHoldAgeMs: 'max-hold-age',
  leaseCaKey: 'lease-ca-key',
} as const satisfies Partial<Record<keyof Config, string>>;

const SETTINGS = Object.keys(SETTING_NAMES) as (keyof typeof SETTING_NAMES)[];
