import { Random } from '@nodepool/core/testing';
import { describe, expect, it } from 'vitest';
import { differences, makeConfig, makeRegistry, type ConfigSpec } from './config.js';
import { StaticFleet } from './static-fleet.js';

const fleet = new StaticFleet('rack1', ['small'], new Random(1));
const drivers = new Map([['static', fleet.driver]]);
const spec: ConfigSpec = {
  labels: [{ name: 'small', minReady: 2, maxReadyAgeMs: 30_000, standby: { atMost: 3 } }],
  maxHoldAgeMs: 20_000,
  tenantLimits: new Map([['one', { instances: 3 }]]),
  steering: false,
  providers: [fleet.entry()],
};

describe('a configuration of the simulation', () => {
  it('is what the file says, as the loader reads it', async () => {
    const config = await makeConfig(spec, drivers);

    expect(config.labels.get('small')).toEqual({
      ...{ name: 'small', minReady: 2, maxReadyAgeMs: 30_000 },
      standby: expect.objectContaining({ followMs: 3_600_000, auto: false, atMost: 3 }) as unknown,
    });
    expect(config.steering).toBe(false);
    expect(differences(config, spec)).toEqual([]);
  });

  it('differs from that of another file', async () => {
    const config = await makeConfig(spec, drivers);
    const others = [
      { ...spec, maxHoldAgeMs: 0 },
      { ...spec, tenantLimits: new Map() },
      { ...spec, labels: [{ name: 'small' }] },
      { ...spec, providers: [] },
    ];

    expect(others.map((other) => differences(config, other).map((text) => text.split(' ')[0]))).toEqual([
      ...[['max-hold-age'], ['limits'], ['labels'], ['providers']],
    ]);
  });

  it('is rejected when a driver reports a problem', async () => {
    const entry = { ...fleet.entry(), pools: [{ name: 'main', nodes: [{ name: 'host', labels: ['unheard-of'] }] }] };

    await expect(makeConfig({ ...spec, providers: [entry] }, drivers)).rejects.toThrow(/unheard-of/);
  });

  it('is rejected when it names an unknown driver', async () => {
    const provider = { name: 'cloud', driver: 'fake' };

    await expect(makeConfig({ ...spec, providers: [provider] }, drivers)).rejects.toThrow(
      'driver "fake" is not installed',
    );
    await expect(makeRegistry(drivers).get('fake')).rejects.toThrow('driver "fake" is not installed');
  });
});
