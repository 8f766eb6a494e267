import type { JsonObject } from '@nodepool/zk-protocol';
import type { PoolConfig } from '../contract/provider-config.js';
import type { FileCheck } from './file-check.js';
import { countingEntries } from './raw-values.js';

/**
 * Warns of standby nodes that exceed the maximum capacity: of a label in all its pools together, or of all labels that only
 * one pool offers. Ignores labels that providers that are not served offer, too.
 */
export function checkStandby(top: JsonObject, check: FileCheck): void {
  const pools = [...check.providers.values()].flatMap((provider) =>
    [...provider.pools.values()].map((pool) => ({ provider: provider.name, pool })),
  );
  const elsewhere = new Set([...check.unserved.values()].flatMap((each) => [...each.pools.values()].flat()));
  const alone = new Map<PoolConfig, { provider: string; sum: number; labels: string[] }>();
  for (const { index, name } of countingEntries(top['labels'])) {
    const wanted = check.labels.get(name)?.minReady ?? 0;
    const offering = pools.filter(({ pool }) => pool.labels.has(name));
    const [first] = offering;
    if (wanted <= 0 || first === undefined || elsewhere.has(name)) continue;
    const room = offering.reduce((sum, { pool }) => sum + Math.max(0, pool.maxServers), 0);
    if (wanted > room) {
      const message = `min-ready ${wanted} of label "${name}" is more than its pools may have together (max-servers ${room})`;
      check.problems.add(check.document, ['labels', index, 'min-ready'], message, { severity: 'warning' });
    } else if (offering.length === 1) {
      const known = alone.get(first.pool) ?? { provider: first.provider, sum: 0, labels: [] };
      alone.set(first.pool, { ...known, sum: known.sum + wanted, labels: [...known.labels, name] });
    }
  }
  for (const [pool, { provider, sum, labels }] of alone) {
    if (sum > pool.maxServers) reportCrowd(check, top, { pool, provider, sum, labels });
  }
}

function reportCrowd(
  { document, problems }: FileCheck,
  top: JsonObject,
  { pool, provider, sum, labels }: { pool: PoolConfig; provider: string; sum: number; labels: readonly string[] },
): void {
  const entry = countingEntries(top['providers']).find(({ name }) => name === provider);
  const place = countingEntries(entry?.entry['pools']).find(({ name }) => name === pool.name);
  const path = ['providers', entry?.index ?? 0, 'pools', place?.index ?? 0, 'max-servers'];
  const message =
    `the standby nodes of ${labels.map((name) => `"${name}"`).join(', ')}, which only this pool offers, are ${sum} together: ` +
    `more than its max-servers ${pool.maxServers}`;
  problems.add(document, path, message, { severity: 'warning' });
}
