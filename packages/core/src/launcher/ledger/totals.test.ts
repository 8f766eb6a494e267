import { expect, it } from 'vitest';
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

it('a pool and a provider use what their nodes need, each once', () => {
  const totals = totalsOf(
    use({ labels: ['a', 'b'] }),
    use({ labels: ['c'] }),
    use({ pool: 'other' }),
    use({ provider: 'q' }),
  );

  expect(totals.ofPool('p', 'main')).toEqual({ instances: 2, cores: 8 });
  expect(totals.ofPool('p', 'empty')).toEqual({});
  expect(totals.ofProvider('p')).toEqual({ instances: 3, cores: 12 });
});

it('a node is used until it no longer counts', () => {
  const totals = totalsOf(use());

  totals.count(use(), -1);

  expect(totals.ofPool('p', 'main')).toEqual({ instances: 0, cores: 0 });
  expect(totals.ofProvider('p')).toEqual({ instances: 0, cores: 0 });
  expect(totals.ofTenant('t')).toEqual({ instances: 0, cores: 0 });
  expect([...totals.labelsOf('p')]).toEqual([]);
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
