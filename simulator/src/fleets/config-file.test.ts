import { ConfigError } from '@nodepool/core';
import { Random, VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { differences, readConfig, type ConfigSpec } from './config.js';
import { acceptedOf, brokenFile, rightFile } from './config-file.js';
import { StaticFleet } from './static-fleet.js';

const fleets = ['rack1', 'rack2'].map((name) => new StaticFleet(name, ['small'], new Random(1)));
const drivers = new Map(fleets.map(({ driver }) => [driver.name, driver]));
const spec: ConfigSpec = {
  ...{ labels: [{ name: 'small' }], maxHoldAgeMs: 0, tenantLimits: new Map() },
  providers: fleets.map((fleet) => fleet.entry()),
};

function read(text: string | undefined) {
  const clock = new VirtualClock();
  const missing = Object.assign(new Error('no such file'), { code: 'ENOENT' });
  const reading = () => (text === undefined ? Promise.reject(missing) : Promise.resolve(text));
  return clock.run(readConfig({ drivers, clock, read: reading }));
}

function refused(error: unknown): undefined {
  if (!(error instanceof ConfigError)) throw error;
}

it('a right file is put in force', async () => {
  const file = rightFile(spec);

  expect(differences(await read(file.text), spec)).toEqual([]);
  expect(acceptedOf(file, spec)).toBe(spec);
});

it('a broken file is refused by the loader, or leaves one provider out', async () => {
  const kinds = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const file = brokenFile(spec, new Random(seed));
    const accepted = acceptedOf(file, undefined);
    const config = await read(file.text).catch(refused);
    kinds.add(accepted ? 'unserved' : 'refused');

    if (accepted && config) expect(differences(config, accepted)).toEqual([]);
    else expect([seed, accepted, config]).toEqual([seed, undefined, undefined]);
  }

  expect(kinds.size).toBe(2);
});

it('a provider in service is not left out', () => {
  const broken = Array.from({ length: 100 }, (_, seed) => brokenFile(spec, new Random(seed)));
  const unserved = broken.filter((file) => file.unserved !== undefined);

  expect(unserved.map((file) => acceptedOf(file, spec))).toEqual(unserved.map(() => undefined));
});
