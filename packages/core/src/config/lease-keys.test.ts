import { expect, it } from 'vitest';
import { errorLinesOf, loadWritten } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';

const launching = { launches: true, pausesAtQuota: true, managesImages: false };
const drivers = registryOf(
  plainDriver('rack', { capabilities: { ...launching, launches: false } }),
  plainDriver('cloud', { capabilities: launching }),
  plainDriver('slots', { capabilities: { ...launching, rampsLaunches: false } }),
);
const yamlOf = (driver: string, file: string) => `labels: [{name: a}]
providers:
- {name: p, driver: ${driver}, lease-ssh-key: ${file}, pools: [{name: m, labels: [{name: a}]}]}
`;

it.each([
  ['rack', true],
  ['cloud', false],
])('knows the key of a provider, and whether hosts of driver %s live on', async (driver, isKeptOn) => {
  const { leaseKeys } = await loadWritten({ yaml: yamlOf(driver, '/etc/key'), drivers, mode: 'validate' });
  expect(leaseKeys).toEqual(new Map([['p', { file: '/etc/key', isKeptOn }]]));
});

it('has no key for a provider without one', async () => {
  const yaml = yamlOf('rack', '/x').replace('lease-ssh-key: /x, ', '');
  expect((await loadWritten({ yaml, drivers })).leaseKeys).toEqual(new Map());
});

it.each([
  ['cloud', 'lease_key', /"lease_key" is no absolute path/],
  ['slots', '/etc/key', /parts of machines/],
])('refuses for driver %s the file %s', async (driver, file, why) => {
  const lines = await errorLinesOf({ yaml: yamlOf(driver, file), drivers });
  expect(lines.join('\n')).toMatch(why);
  expect(lines.join('\n')).toContain('providers[0].lease-ssh-key');
});
