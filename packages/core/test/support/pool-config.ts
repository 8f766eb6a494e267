import type { PoolConfig } from '../../src/contract/provider-config.js';

/** A pool with these labels and without limits. */
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
