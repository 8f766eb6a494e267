import type { PoolView } from '../../src/launcher/plan/types.js';

/** A pool that has no node and launches none, is busy with nothing and has no quota, except for what `fields` say. */
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
