import { describe, expect, it } from 'vitest';
import type { PoolConfig } from '@nodepool/core';
import { findTarget } from './find-target.js';

const pool = (name: string, labels: Record<string, string>): PoolConfig => ({
  ...{ name, maxServers: 1, maxResources: {}, nodeAttributes: null, priority: undefined },
  ...{ ignoreProviderQuota: false, azs: undefined },
  labels: new Map(Object.entries(labels).map(([label, diskimage]) => [label, { name: label, diskimage }])),
});
const pools = new Map(
  [pool('main', { small: 'debian', fedora: 'fedora', large: 'debian' }), pool('tests', { check: 'debian' })].map(
    (one) => [one.name, one],
  ),
);
const named = (wanted: { pool?: string; label?: string }, image = 'debian') => {
  const found = findTarget({ pools }, image, { pool: wanted.pool, label: wanted.label });
  return found && `${found.pool.name} ${found.label.name}`;
};

describe('an image is tested with', () => {
  it.each([
    ['the first label that is made of it', {}, 'main small'],
    ['the first one of the pool that is named', { pool: 'tests' }, 'tests check'],
    ['the label that is named', { label: 'large' }, 'main large'],
    ['nothing when the pool is not there', { pool: 'elsewhere' }, undefined],
    ['nothing when the label is made of another image', { label: 'fedora' }, undefined],
  ])('%s', (_what, wanted, expected) => {
    expect(named(wanted)).toBe(expected);
  });

  it('no node if no label uses it', () => {
    expect(named({}, 'other')).toBeUndefined();
  });
});
