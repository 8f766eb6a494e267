import { expect, it } from 'vitest';
import { fail, steeringAt } from '../../../test/support/steering-at.js';
import { TimeoutError } from '../../contract/errors.js';
import { Steered } from './steering.js';

it('without a feature that steers, all providers count alike', () => {
  const steered = new Steered();

  expect([steered.of('cloud'), steered.reports(), steered.failingProviders()]).toEqual([undefined, [], []]);
});

it('a provider is what the feature says of it', () => {
  const cloud = steeringAt(() => 0);
  for (let i = 0; i < 3; i++) fail(cloud, 'small', new TimeoutError('not ready', { operation: 'create' }));
  const steered = new Steered();

  steered.by = { of: () => cloud, reports: () => [{ provider: 'cloud', report: cloud.report() }] };

  expect([steered.of('cloud'), steered.failingProviders()]).toEqual([cloud, ['cloud']]);
});
