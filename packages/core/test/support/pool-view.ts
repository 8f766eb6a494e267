import type { PoolView } from '../../src/launcher/plan/types.js';

/** A pool without nodes, launches, work and quota, except for the given fields. */
export function poolView(fields: Pick<PoolView, 'launcherId' | 'provider' | 'pool'> & Partial<PoolView>): PoolView {
  return {
    priority: 100,
    stopping: false,
    launches: false,
    pausesAtQuota: false,
    maxConcurrency: -1,
    activeLaunches: 0,
    errorLabels: new Set(),
    disabledLabels: new Set(),
    registered: [],
    paused: false,
    labelReady: () => true,
    freeNodes: () => [],
    idleNodes: () => [],
    capacityIsComing: false,
    foreignReservations: [],
    labelCapacity: () => undefined,
    quota: { need: () => ({ instances: 1 }), providerTotal: {}, providerUsed: {}, poolUsed: {} },
    tenantLimit: () => undefined,
    tenantUsed: () => ({}),
    ...fields,
  };
}
