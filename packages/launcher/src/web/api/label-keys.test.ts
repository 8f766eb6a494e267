import { expect, it } from 'vitest';
import { newPoolComponent, type LauncherId } from '@nodepool/zk-protocol';
import { providersWithoutKeys, takesSshKey } from './label-keys.js';

const pool = (providerName: string, supportedLabels: string[], leaseKeys?: boolean) =>
  newPoolComponent({
    ...{ hostname: 'h', version: '1', launcherId: 'x' as LauncherId, name: 'main', providerName, supportedLabels },
    ...(leaseKeys !== undefined && { leaseKeys }),
  });

it('takes an SSH key if a launcher of each of its providers can log in', () => {
  const without = providersWithoutKeys([
    pool('rack', ['small', 'both'], true),
    pool('rack', ['small']), // the original beside it
    pool('cloud', ['big', 'both'], false),
  ]);

  expect(['small', 'big', 'both', 'unknown'].map((label) => takesSshKey(label, without))).toEqual([
    ...[true, false, false, false],
  ]);
  expect(without.get('both')).toEqual(['cloud']);
});
