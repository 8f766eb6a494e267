import type { ProviderConfig } from '../contract/provider-config.js';

/** Sum over the pools; `Infinity` when one has no limit. Pools that are switched off count nothing. */
export function maxServersOf(provider: ProviderConfig): number {
  let sum = 0;
  for (const { maxServers } of provider.pools.values()) sum += Math.max(0, maxServers);
  return sum;
}
