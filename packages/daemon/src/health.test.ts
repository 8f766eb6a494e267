import { expect, it } from 'vitest';
import type { Condition } from '@nodepool/core/service';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { systemClock } from '@nodepool/zk-protocol';
import { alienToHealth, createHealthReport, type HealthFacts } from './health.js';

const { zk } = connectInMemory(new MemoryServer(systemClock));
const condition = (severity: Condition['severity']): Condition => ({
  ...{ kind: 'provider', name: 'sky', type: 'Failing', status: 'true', severity, reason: 'x', message: 'm' },
  ...{ nextStep: 'n', evidence: {}, sinceMs: 0, lastSeenMs: 0 },
});
function report(changes: Partial<HealthFacts> = {}) {
  return createHealthReport({
    ...{ version: '1.2.3', hostname: 'nl01', startedMs: 1_000, nowMs: 61_400, draining: false, zk, conditions: [] },
    config: {
      file: 'nodepool.yaml',
      warnings: [],
      providers: new Map([['sky', {}]]),
    } as unknown as HealthFacts['config'],
    reload: { loadedMs: 0, restartNeeded: [] } as unknown as HealthFacts['reload'],
    runtime: { notReady: [], health: () => ({ pools: 3 }) },
    ...changes,
  });
}
const starting = { notReady: ['provider sky'], health: () => ({}) };
const restart = { loadedMs: 0, restartNeeded: ['webapp'] } as unknown as HealthFacts['reload'];

it.each<[string, Partial<HealthFacts>]>([
  ['ok', {}],
  ['ok', { conditions: [condition('warning')] }],
  ['starting', { runtime: starting }],
  ['degraded', { conditions: [condition('error')], runtime: starting }],
  ['degraded', { reload: restart }],
  ['draining', { draining: true, conditions: [condition('error')] }],
])('is %s for %j', (status, facts) => {
  expect(report(facts).status).toBe(status);
});

it('includes the members of the runtime and the configuration', () => {
  expect(report()).toMatchObject({
    ...{ version: '1.2.3', uptime_seconds: 60, pools: 3, not_ready: [] },
    config: { file: 'nodepool.yaml', loaded_at: '1970-01-01T00:00:00.000Z', error: null, providers: ['sky'] },
  });
});

it('shows unknown properties of an alien resource as null', () => {
  const alien = { provider: 'sky', type: 'instance', id: 'i-1', sinceMs: 0 } as Parameters<typeof alienToHealth>[0];

  expect(alienToHealth(alien)).toEqual({
    ...{ provider: 'sky', type: 'instance', id: 'i-1', name: null, node: null, build: null, database: null },
    since: '1970-01-01T00:00:00.000Z',
  });
});
