import type { PoolComponentRecord } from '@nodepool/zk-protocol';

/**
 * Providers of each offered label whose nodes take no SSH key of a lessee. A provider takes keys if one of the launchers that serve
 * it can log in to its nodes; others, and launchers of the original, may serve it as well.
 */
export function providersWithoutKeys(pools: Iterable<PoolComponentRecord>): Map<string, string[]> {
  const all = [...pools];
  const withKeys = new Set(all.filter(({ leaseKeys }) => leaseKeys).map(({ providerName }) => providerName));
  const without = new Map<string, string[]>();
  for (const { providerName, supportedLabels } of all) {
    for (const label of supportedLabels) {
      const providers = without.get(label) ?? [];
      without.set(label, providers);
      if (!withKeys.has(providerName) && !providers.includes(providerName)) providers.push(providerName);
    }
  }
  return without;
}

/** Whether leases of nodes of the label may have an SSH key. @param without - see {@link providersWithoutKeys} */
export function takesSshKey(label: string, without: ReadonlyMap<string, readonly string[]>): boolean {
  return without.get(label)?.length === 0;
}
