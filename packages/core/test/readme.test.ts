import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tempDir } from './support/temp-dir.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const source = fileURLToPath(new URL('../src/config/index.ts', import.meta.url));

const DRIVER = `export const driver = { name: 'acme', apiVersion: 1, schema: { properties: { pools: {} } },
  capabilities: { launches: true, pausesAtQuota: true, managesImages: false },
  getProviderConfig: (entry) => ({ name: entry.name, driverName: 'acme', entry,
    pools: new Map(entry.pools.map(({ name }) => [name, { name, labels: new Map([['small', {}]]) }])) }),
  getProvider() {} };`;
const MANIFEST = { name: 'nodepool-driver-acme', version: '1.0.0', type: 'module', exports: './main.js' };

/** The example in the section for a file in this folder. */
function exampleIn(folder: string): string {
  const [, example = ''] = /## In a program[^]*?```js\n([^]*?)```/.exec(readme) ?? [];
  return example
    .replace("'@nodepool/core/config'", JSON.stringify(source))
    .replace("'nodepool.yaml'", `'${folder}/nodepool.yaml'`);
}

it('the program in the README prints the configuration', async () => {
  const folder = tempDir({
    'nodepool.yaml': 'labels: [{name: small}]\nproviders: [{name: sky, driver: acme, pools: [{name: main}], odd: 1}]\n',
    'node_modules/nodepool-driver-acme/package.json': JSON.stringify({
      ...MANIFEST,
      nodepool: { driver: 'acme', apiVersion: 1 },
    }),
    'node_modules/nodepool-driver-acme/main.js': DRIVER,
  });
  const program = join(tempDir({ 'program.ts': exampleIn(folder) }), 'program.ts');
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  onTestFinished(() => log.mockRestore());

  await import(program);

  const lines = log.mock.calls.flat().map(String);
  expect(lines[0]).toBe('sky (acme), pool main: small');
  expect(lines.slice(1)).toContainEqual(expect.stringMatching(/^warning: providers\[0\]\.odd: unknown key "odd"/));
});
