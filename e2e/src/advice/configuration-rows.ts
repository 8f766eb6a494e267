import type { Row } from './row.js';

const inForce = (
  type: string,
  reason: string,
  changes: Parameters<Parameters<Row['begin']>[0]['configure']>[0],
  advice: RegExp,
): Row => ({
  ...{ type, reason, advice },
  begin: (world) => world.configure(changes),
  follow: (world) => world.configure(),
});

const SPARE = { name: 'spare', driver: 'vessel', pools: [{ name: 'main', labels: [{ name: 'boat' }] }] };

/** Conditions that end with another configuration. */
export const CONFIGURATION_ROWS: readonly Row[] = [
  inForce('ConfigurationNotLoaded', 'Invalid', { more: { 'max-hold-age': 'never' } }, /config-validate, on /),
  inForce('ConfigurationProblem', 'Warnings', { more: { 'unknown-key': 1 } }, /config-validate/),
  inForce('RestartNeeded', 'SettingChanged', { more: { 'zookeeper-timeout': 33 } }, /or take the change back$/),
  inForce(
    'Unserved',
    'DriverMissing',
    { more: { labels: [{ name: 'boat' }], providers: [SPARE] } },
    /install the driver, or correct its name/,
  ),
  inForce(
    'NotServed',
    'ProviderUnserved',
    { more: { labels: [{ name: 'boat' }], providers: [SPARE] } },
    /install the driver, or correct its name/,
  ),
  inForce(
    'NotServed',
    'NoPool',
    { more: { labels: [{ name: 'lonely' }] } },
    /^add label "lonely" to a pool, or remove it/,
  ),
  inForce('NotServed', 'PoolDisabled', { pool: { 'max-servers': 0 } }, /^raise max-servers of the pool$/),
  inForce(
    'NotServed',
    'PoolDisabled',
    { provider: { 'max-concurrency': 0 } },
    /^raise max-concurrency of provider "sky"$/,
  ),
  inForce('NotServed', 'LabelUnavailable', { label: { 'flavor-name': 'm1.none' } }, /flavor/),
];
