import type { JsonObject } from '@nodepool/zk-protocol';
import type { PoolConfig, ProviderConfig } from '../contract/provider-config.js';
import { mapOf, numberOf, textOf } from './raw-values.js';

/** The part of a provider's config that all drivers read alike. `entry` must have passed the schema. */
export function readCommonProvider(
  entry: JsonObject,
  driverName: string,
): Pick<ProviderConfig, 'name' | 'driverName' | 'entry' | 'maxConcurrency' | 'priority'> {
  return {
    name: textOf(entry['name']) ?? '',
    driverName,
    entry,
    maxConcurrency: numberOf(entry['max-concurrency']) ?? -1,
    priority: numberOf(entry['priority']),
  };
}

/** The part of a `pools[]` entry that all drivers read alike; a pool without a priority has its provider's. */
export function readCommonPool(
  pool: JsonObject,
  provider: Pick<ProviderConfig, 'priority'>,
): Pick<PoolConfig, 'name' | 'maxServers' | 'nodeAttributes' | 'priority' | 'ignoreProviderQuota'> {
  return {
    name: textOf(pool['name']) ?? '',
    maxServers: numberOf(pool['max-servers']) ?? Infinity,
    nodeAttributes: 'node-attributes' in pool ? mapOf(pool['node-attributes']) : null,
    priority: numberOf(pool['priority']) ?? provider.priority,
    ignoreProviderQuota: pool['ignore-provider-quota'] === true,
  };
}
