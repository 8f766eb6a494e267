import type { Resources } from '@nodepool/zk-protocol';
import type { Pool } from './pool.js';

/** The state of one of this launcher's pools in numbers. Limits that do not exist are left out. */
export interface PoolStatus {
  readonly provider: string;
  readonly pool: string;
  readonly launcherId: string;
  readonly labels: readonly string[];
  /** Number of requests at work. */
  readonly handling: number;
  readonly waiting: number;
  /** Number of requests at work that wait for capacity. */
  readonly paused: number;
  readonly maxServers: number;
  /** Use by the pool's nodes, including launches in progress. */
  readonly used: Resources;
  readonly providerUsed: Resources;
  /** Limits of the provider, net of foreign use; `undefined` while unknown. */
  readonly providerLimits: Resources | undefined;
  /** Resources that accepted requests wait for. */
  readonly reservations: readonly { readonly requestId: string; readonly need: Resources }[];
}

/** Describes limits, use and reservations of one pool. */
export function describePool({ load, view }: Pool): PoolStatus {
  const { quota, pool, provider, launcherId } = view;
  return {
    provider,
    pool: pool.name,
    launcherId,
    labels: [...pool.labels.keys()],
    ...load,
    maxServers: pool.maxServers,
    used: quota.poolUsed,
    providerUsed: quota.providerUsed,
    providerLimits: quota.providerTotal,
    reservations: view.ownReservations.map(({ request, need }) => ({ requestId: request.id, need })),
  };
}
