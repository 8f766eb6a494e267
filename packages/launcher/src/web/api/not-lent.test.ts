import { newPoolComponent, type LauncherId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { whyNotLent } from './not-lent.js';

const common = { hostname: 'nl01', version: '1', launcherId: 'nl01' as LauncherId, name: 'main' };
const pools = [
  newPoolComponent({ ...common, providerName: 'rack', supportedLabels: ['small', 'pod'] }),
  newPoolComponent({ ...common, providerName: 'shift', supportedLabels: ['pod'], notLent: 'set service-account' }),
];

it('is the reason of each pool that may make a node of the label', () => {
  expect(whyNotLent(pools, 'pod')).toEqual(['provider "shift": set service-account']);
  expect(whyNotLent(pools, 'small')).toEqual([]);
});

it('is the reason of the pool of a node', () => {
  expect(whyNotLent(pools, { provider: 'shift', pool: 'main' })).toHaveLength(1);
  expect(whyNotLent(pools, { provider: 'shift', pool: 'other' })).toEqual([]);
  expect(whyNotLent(pools, { provider: 'rack', pool: 'main' })).toEqual([]);
});
