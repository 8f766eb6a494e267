import { expect, it } from 'vitest';
import { errorLinesOf, loadWritten } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import type { Driver } from '../contract/driver.js';

const entry = (name: string) => `  - {name: ${name}, driver: plain, pools: [{name: main, labels: [{name: small}]}]}\n`;
const YAML = `labels: [{name: small}]\nproviders:\n${entry('b')}${entry('a')}`;
const withDriver = (changes: Partial<Driver>) => registryOf(plainDriver('plain', changes));

it('keeps providers in the order of the file', async () => {
  const config = await loadWritten({ yaml: YAML });

  expect([...config.providers.keys()]).toEqual(['b', 'a']);
});

it.each([
  ['returns a promise', () => Promise.resolve(), /cannot read this entry/],
  ['returns nothing', () => undefined, /getProviderConfig returned no configuration with a name and pools/],
])('names each entry whose driver %s', async (_what, getProviderConfig, message) => {
  const drivers = withDriver({ getProviderConfig: getProviderConfig as unknown as Driver['getProviderConfig'] });

  const lines = await errorLinesOf({ yaml: YAML, drivers });

  expect(lines.filter((line) => message.test(line))).toHaveLength(2);
});

it('lets a driver compare its entries, and reports problems at their position', async () => {
  const names: string[] = [];
  const drivers = withDriver({
    checkAll: (configs, problem) => {
      names.push(...configs.map(({ name }) => name));
      problem('a', ['pools', 0, 'name'], 'two pools share a project');
      problem('gone', [], 'about no entry');
    },
  });

  const lines = await errorLinesOf({ yaml: YAML, drivers });

  expect(names).toEqual(['b', 'a']);
  expect(lines.join('\n')).toMatch(/:4:.*providers\[1\]\.pools\[0\]\.name: two pools share a project/);
  expect(lines.join('\n')).toMatch(/providers: about no entry/);
});

it('reports a driver that throws when it compares its entries', async () => {
  const drivers = withDriver({
    checkAll: () => {
      throw new Error('no');
    },
  });

  expect((await errorLinesOf({ yaml: YAML, drivers })).join()).toContain('driver "plain" cannot check its entries: no');
});
