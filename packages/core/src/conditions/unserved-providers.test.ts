import { expect, it } from 'vitest';
import type { Config, UnservedProvider } from '../contract/config.js';
import { unservedConditions, unservedImageConditions } from './unserved-providers.js';

const provider = (name: string, diskimages: string[] = []): [string, UnservedProvider] => [
  name,
  {
    ...{ name, driverName: 'vessel', reason: 'driver "vessel" is not installed', pools: new Map() },
    problem: { severity: 'warning', position: undefined, path: '', message: '' },
    diskimages: new Set(diskimages),
  },
];
const CONFIG: Pick<Config, 'unserved'> = { unserved: new Map([provider('pods'), provider('ships', ['debian'])]) };

it('a launcher reports an error, or a warning while another launcher serves the provider', () => {
  const found = unservedConditions(CONFIG, [
    { providerName: 'ships', hostname: 'b' },
    { providerName: 'ships', hostname: 'a' },
    { providerName: 'ships', hostname: 'a' },
    { providerName: 'rack', hostname: 'c' },
  ]);

  expect(found.map(({ kind, type, name, severity, message }) => [kind, type, name, severity, message])).toEqual([
    [
      'provider',
      'Unserved',
      'pods',
      'error',
      expect.stringMatching(/"vessel" is not installed; no launcher serves it$/),
    ],
    ['provider', 'Unserved', 'ships', 'warning', expect.stringMatching(/; it is served by the launcher on a, b$/)],
  ]);
  expect(unservedConditions({}, [])).toEqual([]);
});

it('a builder reports an error only if the provider takes images', () => {
  expect(unservedImageConditions(CONFIG).map(({ name, severity, message }) => [name, severity, message])).toEqual([
    ['pods', 'warning', expect.stringContaining('it lists no diskimages')],
    ['ships', 'error', expect.stringContaining('this builder does not upload "debian" to it')],
  ]);
});
