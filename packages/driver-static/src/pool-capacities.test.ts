import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { canPlace, PoolCapacities } from './pool-capacities.js';

const host = (labels: string[], maxParallelJobs = 1) => ({ labels, maxParallelJobs });

describe('canPlace', () => {
  it('finds no place for two labels that only one slot has', () => {
    expect(canPlace([host(['small', 'medium'])], ['small'])).toBe(true);
    expect(canPlace([host(['small', 'medium'])], ['medium'])).toBe(true);
    expect(canPlace([host(['small', 'medium'])], ['small', 'medium'])).toBe(false);
  });

  it('counts each slot of a host', () => {
    expect(canPlace([host(['small', 'medium'], 2)], ['small', 'medium'])).toBe(true);
    expect(canPlace([host(['small', 'medium'], 2)], ['small', 'medium', 'small'])).toBe(false);
  });

  it('moves a label to another host when the first one is needed for something else', () => {
    const hosts = [host(['small', 'medium']), host(['small', 'large']), host(['large'])];

    expect(canPlace(hosts, ['small', 'large', 'medium'])).toBe(true);
    expect(canPlace(hosts, ['small', 'small', 'large'])).toBe(true);
    expect(canPlace(hosts, ['medium', 'medium', 'large'])).toBe(false);
  });
});

describe('PoolCapacities', () => {
  const nodes: JsonObject[] = [
    { name: 'h1', labels: ['small', 'medium'], 'max-parallel-jobs': 2 },
    { name: 'h2', labels: ['small'] },
  ];
  const entry = { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes }] };
  const context = { labels: new Map(), diskimages: new Map(), problem: () => {} };
  const capacities = new PoolCapacities(readProviderConfig(entry, context));

  it('count the slots of a label in a pool', () => {
    expect(capacities.slotsOf('main', 'small')).toBe(3);
    expect(capacities.slotsOf('main', 'medium')).toBe(2);
    expect(capacities.slotsOf('other', 'small')).toBe(0);
  });

  it('judge a combination of labels in any order', () => {
    expect(capacities.canHold('main', ['medium', 'small', 'medium'])).toBe(true);
    expect(capacities.canHold('main', ['small', 'medium', 'medium', 'medium'])).toBe(false);
    expect(capacities.canHold('other', ['small', 'medium'])).toBe(false);
  });

  it('leave one label to the number of its slots', () => {
    expect(capacities.canHold('main', ['medium', 'medium', 'medium'])).toBe(true);
  });
});
