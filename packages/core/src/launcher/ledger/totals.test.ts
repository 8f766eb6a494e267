import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { Totals, type Use } from './totals.js';

const need = { instances: 1, cores: 4 };

function use(changes: Partial<Use> = {}): Use {
  return { provider: 'p', pool: 'main', labels: ['a'], tenant: 't', resources: need, ...changes };
}

function totalsOf(...uses: Use[]): Totals {
  const totals = new Totals();
  for (const each of uses) totals.count(each, 1);
  return totals;
}

describe('what a pool uses', () => {
  it('has in it the nodes of the labels that are asked for', () => {
    const totals = totalsOf(use(), use({ labels: ['removed'] }), use({ pool: 'other' }), use({ provider: 'q' }));

    expect(totals.ofPool('p', poolConfig('main', ['a', 'b']))).toEqual(need);
    expect(totals.ofPool('p', poolConfig('main', ['a', 'removed']))).toEqual({ instances: 2, cores: 8 });
    expect(totals.ofPool('p', poolConfig('empty', ['a']))).toEqual({});
  });

  it('has a node of several labels in it by its first one', () => {
    const totals = totalsOf(use({ labels: ['a', 'b'] }));

    expect(totals.ofPool('p', poolConfig('main', ['a']))).toEqual(need);
    expect(totals.ofPool('p', poolConfig('main', ['b']))).toEqual({});
  });

  it('has a node in it until it no longer counts', () => {
    const totals = totalsOf(use());

    totals.count(use(), -1);

    expect(totals.ofPool('p', poolConfig('main', ['a']))).toEqual({ instances: 0, cores: 0 });
    expect(totals.ofTenant('t')).toEqual({ instances: 0, cores: 0 });
    expect([...totals.labelsOf('p')]).toEqual([]);
  });
});

it('a tenant uses nodes wherever they are, those included that are not in a pool yet', () => {
  const totals = totalsOf(use(), use({ provider: null, pool: null }), use({ provider: 'q' }), use({ tenant: null }));

  expect(totals.ofTenant('t')).toEqual({ instances: 3, cores: 12 });
  expect(totals.ofTenant('another')).toEqual({});
});

it('a node is counted for each of its labels', () => {
  const totals = totalsOf(use({ labels: ['a', 'b'] }), use({ pool: 'other' }), use({ provider: 'q' }));

  expect(totals.countNodes(({ label }) => label === 'a')).toBe(3);
  expect(totals.countNodes(({ label, pool }) => label === 'b' && pool === 'main')).toBe(1);
  expect([...totals.labelsOf('p')]).toEqual([
    { provider: 'p', pool: 'main', label: 'a', nodes: 1 },
    { provider: 'p', pool: 'main', label: 'b', nodes: 1 },
    { provider: 'p', pool: 'other', label: 'a', nodes: 1 },
  ]);
});
