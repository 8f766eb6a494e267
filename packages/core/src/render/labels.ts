import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { Listing } from './listing.js';

/** Columns of `/label-list`; a row is the name of a label. */
export const labelListing: Listing<string> = [
  { key: 'label', header: 'Label', level: 'brief', value: (label) => label },
];

/** Distinct labels of all registered pools, sorted. */
export function labelsOf(pools: Iterable<PoolComponentRecord>): string[] {
  const labels = new Set<string>();
  for (const pool of pools) for (const label of pool.supportedLabels) labels.add(label);
  return [...labels].sort();
}
