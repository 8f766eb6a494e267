import type { PoolConfig } from '../driver/types.js';

/** A pool of these labels that has no limits. */
export function poolConfig(name: string, labels: readonly string[], changes: Partial<PoolConfig> = {}): PoolConfig {
  return {
    name,
    labels: new Map(labels.map((label) => [label, { name: label }])),
    maxServers: Infinity,
    maxResources: {},
    nodeAttributes: null,
    priority: undefined,
    ignoreProviderQuota: false,
    azs: undefined,
    ...changes,
  };
}
