import { mapOf, numberOf, textOf, type JsonObject } from '@nodepool/zk-protocol';
import type { PoolConfig, ProviderConfig } from '../contract/provider-config.js';

/** Reads the provider settings common to all drivers. `entry` must have passed the schema. */
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

/** Reads the `pools[]` settings common to all drivers. The priority defaults to that of the provider. */
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
