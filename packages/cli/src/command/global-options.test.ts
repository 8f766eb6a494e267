import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { globalOptions } from './global-options.js';
import { UsageError } from './usage-error.js';

const read = (values: Readonly<Record<string, unknown>>) => globalOptions({ _: ['list'], format: 'table', ...values });

it('distinguishes a named configuration file from the default one, which may be missing', () => {
  expect(read({})).toMatchObject({ configFile: '/etc/nodepool/nodepool.yaml', configFileNamed: false });
  expect(read({ c: '/etc/nodepool/nodepool.yaml' })).toMatchObject({ configFileNamed: true });
});

it('takes the last of repeated options, and makes the state directory absolute', () => {
  expect(read({ c: ['a.yaml', 'b.yaml'], 'state-dir': 'state' })).toMatchObject({
    configFile: 'b.yaml',
    stateDir: resolve('state'),
  });
});

it('prefers --json to --format', () => {
  expect(read({ json: true, format: 'yaml' }).format).toBe('json');
});

it('accepts a list of fields of any length', () => {
  const names = Array.from({ length: 50_000 }, (_, index) => `field${index}`);

  expect(read({ fields: names.join(' , ') }).fields).toEqual(new Set(names));
});

it.each([
  [{ fields: '' }, '--fields needs comma-separated names, e.g. id,state'],
  [{ fields: 'id,,state' }, '--fields needs comma-separated names, e.g. id,state'],
  [{ watch: '99' + 'm'.repeat(3) }, '--watch needs a duration such as 90s'],
  [{ watch: '0.05s' }, '--watch needs at least 0.1s'],
  [{ 'connect-timeout': '25h' }, '--connect-timeout takes at most 1d'],
  [{ 'connect-timeout': 'soon' }, '--connect-timeout needs a duration such as 90s'],
])('refuses %j', (values, message) => {
  expect(() => read(values)).toThrow(UsageError);
  expect(() => read(values)).toThrow(message);
});
