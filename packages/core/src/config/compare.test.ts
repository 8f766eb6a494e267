import { join } from 'node:path';
import { expect, it } from 'vitest';
import { plainDriver, PLAIN_SCHEMA, registryOf } from '../../test/support/plain-driver.js';
import { tempDir } from '../../test/support/temp-dir.js';
import type { JsonSchema } from '../contract/driver.js';
import { sameProviderConfig } from './compare.js';
import { loadConfig } from './load-config.js';
import { redactConfig } from './redact.js';
import { nearestName } from '../text/suggest.js';

function load(yaml: string) {
  const file = join(tempDir({ 'nodepool.yaml': yaml }), 'nodepool.yaml');
  return loadConfig({ file, env: {}, drivers: registryOf(plainDriver('plain')), mode: 'service' });
}

it('compares additional values of a provider', async () => {
  const provider = (await load('providers: [{name: p, driver: plain}]')).providers.get('p');
  if (provider === undefined) throw new Error('no provider');

  expect(sameProviderConfig(provider, { ...provider, entry: { ...provider.entry } })).toBe(true);
  expect(sameProviderConfig(provider, { ...provider, equalityExtra: 'rotated' })).toBe(false);
});

it('redacts values that the schema marks as secret, also in lists and alternatives', () => {
  const schema: JsonSchema = {
    ...PLAIN_SCHEMA,
    properties: {
      password: { type: 'string', 'x-secret': true },
      users: { type: 'array', items: { anyOf: [{ type: 'string' }, { properties: { key: { 'x-secret': true } } }] } },
    },
    patternProperties: { '^token-': { 'x-secret': true } },
  };

  expect(
    redactConfig({ password: 'p', 'token-1': 't', users: ['u', { name: 'n', key: 'k' }], cloud: 'c' }, schema),
  ).toEqual({
    password: '[redacted]',
    'token-1': '[redacted]',
    users: ['u', { name: 'n', key: '[redacted]' }],
    cloud: 'c',
  });
});

it.each([
  ['max-server', 'max-servers'],
  ['Max_Servers', 'max-servers'],
  ['lables', 'labels'],
  ['zone', undefined],
  ['x', undefined],
])('takes %s for %s', (typed, meant) => {
  expect(nearestName(typed, ['max-servers', 'labels', 'name', 'priority'])).toBe(meant);
});
