import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig, type DriverRegistry } from '@nodepool/core/config';
import { driver } from '../src/index.js';

const folder = fileURLToPath(new URL('../../examples/', import.meta.url));
/** Finds the driver by name, as Nodepool does. */
const drivers: DriverRegistry = {
  get: (name) => {
    assert.equal(name, driver.name, `the example says "driver: ${name}", this driver is "${driver.name}"`);
    return Promise.resolve(driver);
  },
  reset: async () => {},
  loaded: () => [],
};

for (const name of readdirSync(folder)) {
  void it(`examples/${name} is valid`, async () => {
    const { providers, warnings } = await loadConfig({ file: `${folder}${name}`, env: {}, drivers, mode: 'validate' });

    assert.ok(providers.size > 0);
    assert.deepEqual(warnings, []);
  });
}
