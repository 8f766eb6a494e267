import { createDriverRegistry } from '@nodepool/core/config';
import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';
import { driverPlaces } from '../connection/config.js';
import { checkFile, loadCheckedConfig } from './problems.js';

const get = useWorld();

const MIXED = `labels: [{name: small}]
providers:
- {name: rack, driver: static, pools: [{name: main, nodes: [{name: host1, labels: small}]}]}
- {name: pods, driver: vessel}
`;

async function contextOf(yaml: string) {
  await get().write('checked.yaml', yaml);
  return get().context({ configFile: get().file('checked.yaml') });
}

it('a provider without a driver is an error, or a warning and a result', async () => {
  const context = await contextOf(MIXED);

  const [strict, lenient] = [await checkFile(context, {}), await checkFile(context, { leavesUnserved: true })];

  expect(strict.problems.map(({ severity }) => severity)).toEqual(['error']);
  expect(strict.unserved.size).toBe(0);
  expect(lenient.problems).toEqual([lenient.unserved.get('pods')?.problem]);
});

it('a file that cannot be read is one problem', async () => {
  const context = get().context({ configFile: get().file('missing.yaml') });

  expect((await checkFile(context, { leavesUnserved: true })).problems).toMatchObject([
    { severity: 'error', message: expect.stringContaining('missing.yaml: cannot be read') as string },
  ]);
});

it('a configuration with a provider without a driver is loaded', async () => {
  const context = await contextOf(MIXED);

  const config = await loadCheckedConfig(context, createDriverRegistry(driverPlaces(context.options.configFile)));

  expect([...(config?.providers.keys() ?? [])]).toEqual(['rack']);
  expect([...(config?.unserved?.keys() ?? [])]).toEqual(['pods']);
});
