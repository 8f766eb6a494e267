import { LAUNCHER_SESSION_S } from './soon.js';

/** A pool on the fake cloud. */
export interface ElasticPool {
  /** Default: `main`. */
  name?: string;
  labels: string[];
  maxServers?: number;
  /** More keys, e.g. `max-cores`. */
  more?: Record<string, unknown>;
}

/** A provider on the fake cloud of the test. */
export interface ElasticProvider {
  name: string;
  pools: ElasticPool[];
  /** Knobs, as in `cloud-settings`. Providers of one test share the cloud, so only one should turn them. */
  cloudSettings?: Record<string, unknown>;
  /** More keys, e.g. `launch-retries`. */
  more?: Record<string, unknown>;
}

/** Settings of nodepool.yaml in a test. */
export interface ElasticSetup {
  providers: ElasticProvider[];
  /** Keys of labels, e.g. `{ small: { 'min-ready': 2 } }`; labels without any need not be named. */
  labels?: Record<string, Record<string, unknown>>;
  /** Further top-level keys. */
  more?: Record<string, unknown>;
}

/** One provider with one pool: enough for most tests. */
export function oneProvider(
  pool: Partial<ElasticPool> = {},
  more: Omit<ElasticSetup, 'providers'> & { cloudSettings?: Record<string, unknown> } = {},
): ElasticSetup {
  const { cloudSettings, ...top } = more;
  const provider = {
    name: 'cloud-one',
    pools: [{ labels: ['small'], ...pool }],
    ...(cloudSettings && { cloudSettings }),
  };
  return { providers: [provider], ...top };
}

function poolEntry({ name = 'main', labels, maxServers, more }: ElasticPool): Record<string, unknown> {
  const label = { 'cloud-image': 'debian', 'min-ram': 1024, 'host-key-checking': false };
  return {
    name,
    ...(maxServers === undefined ? {} : { 'max-servers': maxServers }),
    labels: labels.map((one) => ({ name: one, ...label })),
    ...more,
  };
}

/** The `labels` and `providers` of nodepool.yaml. @param cloudDir - state directory of the fake cloud */
export function elasticConfig(
  { providers, labels = {}, more }: ElasticSetup,
  cloudDir: string,
): Record<string, unknown> {
  const offered = providers.flatMap(({ pools }) => pools.flatMap((pool) => pool.labels));
  return {
    'zookeeper-timeout': LAUNCHER_SESSION_S,
    labels: [...new Set([...offered, ...Object.keys(labels)])].map((name) => ({ name, ...labels[name] })),
    providers: providers.map((provider) => ({
      name: provider.name,
      driver: 'fake',
      'cloud-images': [{ name: 'debian' }],
      'cloud-settings': { 'state-dir': cloudDir, ...provider.cloudSettings },
      pools: provider.pools.map(poolEntry),
      ...provider.more,
    })),
    ...more,
  };
}
