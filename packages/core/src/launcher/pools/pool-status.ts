import type { Resources } from '@nodepool/zk-protocol';
import type { Pool } from './pool.js';

/** A pool of this launcher in numbers. Limits that do not exist are left out. */
export interface PoolStatus {
  readonly provider: string;
  readonly pool: string;
  readonly launcherId: string;
  readonly labels: readonly string[];
  /** Requests being worked on. */
  readonly handling: number;
  readonly waiting: number;
  /** Of those being worked on, how many wait for capacity. */
  readonly paused: number;
  readonly maxServers: number;
  /** Use by the pool's nodes, launches under way included. */
  readonly used: Resources;
  readonly providerUsed: Resources;
  /** Limits of the provider without foreign use; `undefined` while unknown. */
  readonly providerLimits: Resources | undefined;
  /** What accepted requests wait for, by request. */
  readonly reservations: readonly { readonly requestId: string; readonly need: Resources }[];
}

/** What one pool has, uses and keeps for requests. */
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
