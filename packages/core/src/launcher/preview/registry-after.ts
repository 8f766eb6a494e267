import { newPoolComponent, type LauncherId, type PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';

const DEFAULT_PRIORITY = 100;

/** The id of a pool that no launcher has registered. */
export function unregisteredId(provider: string, pool: string): LauncherId {
  return `unregistered-PoolWorker.${provider}-${pool}` as LauncherId;
}

/**
 * The registered pools after the launchers of a configuration have got another one. Pools of launchers with other providers
 * remain unchanged, as do those of providers whose driver is missing here.
 * @param before - the configuration in force; `undefined` if not known: then pools of providers that the new one names, and
 *   all pools if only one host has registered any, are considered to be its own
 */
export function registryAfter(
  before: Config | undefined,
  after: Config,
  registered: readonly PoolComponentRecord[],
): PoolComponentRecord[] {
  const isOneHost = new Set(registered.map((pool) => pool.hostname)).size === 1;
  const isOurs = ({ providerName }: PoolComponentRecord) =>
    !after.unserved?.has(providerName) &&
    (after.providers.has(providerName) || (before ? before.providers.has(providerName) : isOneHost));
  return [...registered.filter((pool) => !isOurs(pool)), ...configuredPools(after, registered)];
}

function configuredPools(after: Config, registered: readonly PoolComponentRecord[]): PoolComponentRecord[] {
  return [...after.providers.values()].flatMap((provider) =>
    [...provider.pools.values()].flatMap((pool) => {
      const changes = {
        supportedLabels: [...pool.labels.keys()],
        priority: pool.priority ?? provider.priority ?? DEFAULT_PRIORITY,
      };
      const present = registered.filter((entry) => entry.providerName === provider.name && entry.name === pool.name);
      if (present.length > 0) return present.map((entry) => ({ ...entry, ...changes }));
      return [
        newPoolComponent({
          hostname: '',
          state: 'running',
          version: null,
          launcherId: unregisteredId(provider.name, pool.name),
          name: pool.name,
          providerName: provider.name,
          paused: false,
          ...changes,
        }),
      ];
    }),
  );
}
