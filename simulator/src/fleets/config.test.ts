import { Random } from '@nodepool/core/testing';
import { describe, expect, it } from 'vitest';
import { makeConfig, makeRegistry, type ConfigSpec } from './config.js';
import { StaticFleet } from './static-fleet.js';

const fleet = new StaticFleet('rack1', ['small'], new Random(1));
const drivers = new Map([['static', fleet.driver]]);
const spec: ConfigSpec = {
  labels: [{ name: 'small', minReady: 2 }],
  maxHoldAgeMs: 0,
  tenantLimits: new Map(),
  providers: [fleet.entry()],
};

describe('a configuration of the simulation', () => {
  it('contains the labels, and the providers as parsed by their drivers', () => {
    const { labels, providers } = makeConfig(spec, drivers);

    expect(labels.get('small')).toEqual({ name: 'small', minReady: 2, maxReadyAgeMs: 0 });
    expect([...(providers.get('rack1')?.pools.keys() ?? [])].length).toBeGreaterThan(0);
  });

  it('is rejected when a driver reports a problem', () => {
    const entry = { ...fleet.entry(), pools: [{ name: 'main', nodes: [{ name: 'host', labels: ['unheard-of'] }] }] };

    expect(() => makeConfig({ ...spec, providers: [entry] }, drivers)).toThrow(/^provider rack1: .*unheard-of/);
  });

  it('is rejected when it names an unknown driver', async () => {
    expect(() => makeConfig({ ...spec, providers: [{ name: 'cloud', driver: 'fake' }] }, drivers)).toThrow(
      'no driver fake',
    );
    await expect(makeRegistry(drivers).get('fake')).rejects.toThrow('no driver fake');
  });
});
