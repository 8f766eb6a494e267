import type { PoolConfig, PoolLabelConfig, ProviderConfig } from '@nodepool/core';
import type { DiskimageValidation } from '@nodepool/core/config';

/** Label and pool of a node that tests an image. */
export interface TrialTarget {
  readonly pool: PoolConfig;
  readonly label: PoolLabelConfig;
}

/** @returns the provider's first suitable label; `undefined` if no label uses the image */
export function findTarget(
  { pools }: Pick<ProviderConfig, 'pools'>,
  image: string,
  validation: Pick<DiskimageValidation, 'pool' | 'label'>,
): TrialTarget | undefined {
  for (const pool of pools.values()) {
    if (validation.pool !== undefined && pool.name !== validation.pool) continue;
    for (const label of pool.labels.values()) {
      if (label.diskimage !== image) continue;
      if (validation.label === undefined || label.name === validation.label) return { pool, label };
    }
  }
  return undefined;
}
