import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();

const CODE = `export const driver = { name: 'sky', apiVersion: 1, capabilities: {}, schema: {},
  getProviderConfig() {}, getProvider() {} };`;

it('lists drivers with version, API version and origin, and reports a broken one', async () => {
  await Promise.all([get().installDriver('sky', CODE), get().installDriver('rain', CODE, 7)]);

  const { stdout, stderr } = await get().call('drivers');

  expect(stdout).toMatch(/\| Driver .*\| Package .*\| Version \| API \| Usable \| Path/);
  expect(stdout).toMatch(/\| sky +\| nodepool-driver-sky +\| 1\.2\.3 +\| 1 +\| True +\| .*nodepool-driver-sky/);
  expect(stdout).toMatch(/\| rain +\| nodepool-driver-rain +\| 1\.2\.3 +\| 7 +\| False +\|/);
  expect(stderr).toMatch(/nodepool-driver-rain 1\.2\.3 .* is made for driver API 7 .*: update Nodepool/);
});
