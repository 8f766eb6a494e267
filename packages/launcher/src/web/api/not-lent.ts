import type { NodeRecord, PoolComponentRecord } from '@nodepool/zk-protocol';

/**
 * Why nodes of a label, or a node, are not lent over HTTP: the reasons of the pools that may make them, of all launchers. One such pool
 * is enough, since any pool of a label may serve a request.
 */
export function whyNotLent(
  pools: Iterable<PoolComponentRecord>,
  what: string | Pick<NodeRecord, 'provider' | 'pool'>,
): string[] {
  const reasons = new Set<string>();
  for (const { notLent, supportedLabels, providerName, name } of pools) {
    if (!notLent) continue;
    const isOf =
      typeof what === 'string' ? supportedLabels.includes(what) : providerName === what.provider && name === what.pool;
    if (isOf) reasons.add(`provider "${providerName}": ${notLent}`);
  }
  return [...reasons];
}
