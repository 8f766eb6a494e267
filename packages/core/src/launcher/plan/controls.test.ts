import { newControl, newRequest, type ControlRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { ceilingsOf, describeCeiling, isAboutLabel, isPoolPaused, judgeControls } from './controls.js';

const order = (fields: Omit<Parameters<typeof newControl>[0], 'owner'>): ControlRecord =>
  newControl({ owner: 'alice', ...fields }, 0);

const viewWith = (...controls: ControlRecord[]) =>
  poolView({ launcherId: 'own', provider: 'p', pool: poolConfig('main', ['a', 'b']), launches: true, controls });

describe('an order', () => {
  it.each([
    ['provider', 'p', true, true],
    ['pool', 'p/main', true, true],
    ['pool', 'main', false, false],
    ['label', 'a', false, true],
    ['label', 'b', false, false],
    ['image', 'debian', false, false],
  ] as const)('about %s %s concerns pool p/main: %s, and its label a: %s', (kind, name, isPool, isLabel) => {
    const control = order({ kind, name, mode: 'pause' });
    const view = viewWith(control);

    expect([isPoolPaused(view), isAboutLabel(control, 'a', view)]).toEqual([isPool, isLabel]);
  });

  it('defers requests for what it takes out of service', () => {
    const view = viewWith(order({ kind: 'label', name: 'a', mode: 'pause' }));

    expect(judgeControls(newRequest({ labels: ['b', 'a'] }, 0), view)).toMatchObject({
      action: 'defer',
      reason: { rule: 'paused-by-operator', details: { name: 'a', mode: 'pause' } },
    });
    expect(judgeControls(newRequest({ labels: ['b'] }, 0), view)).toBeUndefined();
  });

  it('defers a request that needs more nodes than it ever allows', () => {
    const view = viewWith(order({ kind: 'label', name: 'a', mode: 'limit', limit: 1 }));

    expect(judgeControls(newRequest({ labels: ['a', 'a'] }, 0), view)).toMatchObject({
      action: 'defer',
      reason: { rule: 'limited-by-operator', details: { limit: 1, needed: 2 } },
    });
    expect(judgeControls(newRequest({ labels: ['a'] }, 0), view)).toBeUndefined();
  });
});

it('the lowest of several limits counts, for pool and provider each', () => {
  const view = viewWith(
    order({ kind: 'provider', name: 'p', mode: 'limit', limit: 7 }),
    order({ kind: 'pool', name: 'p/main', mode: 'limit', limit: 5 }),
    order({ kind: 'pool', name: 'p/main', mode: 'limit', limit: 3 }),
    order({ kind: 'pool', name: 'p/other', mode: 'limit', limit: 1 }),
  );

  expect(ceilingsOf(view)).toEqual({ provider: 7, pool: 3 });
  expect(describeCeiling(view, 'provider')).toContain('7');
  expect([ceilingsOf(viewWith()), describeCeiling(viewWith(), 'pool')]).toEqual([
    { provider: Infinity, pool: Infinity },
    undefined,
  ]);
});
