import { expect, it } from 'vitest';
import { linesAbout } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';

const pools = 'pools: []';

it('reports an unusable driver once, with the entries that name it', async () => {
  const yaml = `providers:
  - {name: a, driver: lost, ${pools}}
  - {name: b, driver: plain, ${pools}}
  - {name: c, driver: lost, ${pools}}
  - {driver: lost, ${pools}}
`;
  const lines = (await linesAbout({ yaml, mode: 'validate' })).filter((line) => line.includes('not installed'));

  expect(lines).toEqual([
    expect.stringContaining('driver "lost" is not installed; the same for "c" in line 4, providers[3] in line 5'),
  ]);
});

it('explains which driver an entry without the key has', async () => {
  const lines = await linesAbout({ yaml: `providers: [{name: a, ${pools}}]` });

  expect(lines.join()).toContain('driver "openstack" is not installed (without "driver", the driver is openstack)');
});

it('reports warnings about a usable package', async () => {
  const driver = plainDriver('plain');
  const found = { driver, packageName: 'nodepool-driver-plain', packageVersion: '1.0.0', path: '/x' };
  const drivers = { ...registryOf(driver), loaded: () => [{ ...found, warnings: ['has a second copy of core'] }] };

  const lines = await linesAbout({ yaml: `providers: [{name: a, driver: plain, ${pools}}]`, drivers });

  expect(lines.join()).toContain('has a second copy of core');
});
