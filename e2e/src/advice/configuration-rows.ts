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

const LONELY = Array.from({ length: 300 }, (_, i) => ({ name: `lonely-${i}` }));
const SPARE = { name: 'spare', driver: 'vessel', pools: [{ name: 'main', labels: [{ name: 'boat' }] }] };

const POOL = {
  networks: ['public'],
  'host-key-checking': false,
  labels: [{ name: 'small', 'cloud-image': 'debian', 'flavor-name': 'm1.small' }],
};

/** Conditions that end with another configuration. */
export const CONFIGURATION_ROWS: readonly Row[] = [
  inForce('ConfigurationNotLoaded', 'Invalid', { more: { 'max-hold-age': 'never' } }, /config-validate, on /),
  inForce('ConfigurationProblem', 'Warnings', { more: { 'unknown-key': 1 } }, /config-validate/),
  inForce(
    'NotStarted',
    'Configuration',
    { provider: { cloud: 'nowhere' } },
    /^correct the configuration of provider "sky"/,
  ),
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
  inForce(
    'LabelUnusable',
    'ServerGroupMissing',
    { label: { 'server-group': 'pack' } },
    /^correct "server-group" of the/,
  ),
  inForce(
    'LabelUnusable',
    'UserDataTooLong',
    { label: { userdata: 'x'.repeat(50_000) } },
    /^shorten "userdata" of the label$/,
  ),
  inForce('ConditionsLeftOut', 'TooMany', { more: { labels: LONELY } }, /^remove the causes of those that are shown$/),
  inForce(
    'NotServed',
    'Several',
    {
      provider: {
        pools: [
          { ...POOL, name: 'main', 'max-servers': 0 },
          { ...POOL, name: 'spare', labels: [{ ...POOL.labels[0], 'flavor-name': 'm1.none' }] },
        ],
      },
    },
    /nodepool explain --label small has the other pools$/,
  ),
];
