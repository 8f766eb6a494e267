import { newControl, type ControlRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { LaunchLimits } from './launch-limits.js';
import type { PoolView } from './types.js';

const limitsOf = (fields: Partial<PoolView>) =>
  new LaunchLimits(
    poolView({ launcherId: 'own', provider: 'p', pool: poolConfig('main', ['a', 'b']), launches: true, ...fields }),
  );

describe('the number of launches', () => {
  it('is not limited without max-concurrency and ramp', () => {
    expect(limitsOf({ activeLaunches: 1_000 }).findShortage(1_000)).toBeUndefined();
  });

  it('is limited by max-concurrency, counting launches of this pass and of the request', () => {
    const limits = limitsOf({ maxConcurrency: 5, activeLaunches: 2 });
    limits.take(2);

    expect(limits.findShortage(0)).toBeUndefined();
    expect(limits.findShortage(1)).toMatchObject({ rule: 'max-concurrency', details: { active: 2, limit: 5 } });
  });

  it('is limited by the ramp, except for the first request while none is in progress', () => {
    const limits = limitsOf({ launchLimit: 3, activeLaunches: 0 });
    const ofFirst = limits.findShortage(10);
    limits.take(10);

    expect(ofFirst).toBeUndefined();
    expect(limits.findShortage(0)).toMatchObject({ rule: 'launch-ramp', details: { limit: 3 } });
    expect(limitsOf({ launchLimit: 3, activeLaunches: 1 }).findShortage(2)?.rule).toBe('launch-ramp');
  });
});

describe('an order that limits a label', () => {
  const order = (limit: number): ControlRecord =>
    newControl({ kind: 'label', name: 'a', mode: 'limit', limit, owner: 'alice' }, 0);

  it('counts existing nodes, those of this pass and those of the request', () => {
    const limits = limitsOf({ controls: [order(4)], countOrdered: () => 1 });
    limits.takeOrdered('a');

    expect(limits.findOrder('a', ['a'])).toBeUndefined();
    expect(limits.findOrder('a', ['a', 'a'])).toMatchObject({
      rule: 'limited-by-operator',
      details: { kind: 'label', name: 'a', owner: 'alice', limit: 4 },
    });
  });

  it('does not limit other labels', () => {
    const limits = limitsOf({ controls: [order(0)] });

    expect(limits.findOrder('b', ['b'])).toBeUndefined();
    expect(limits.findOrder('a', [])?.text).toContain('0 are there or about to be');
  });
});
