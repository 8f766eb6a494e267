import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadWritten } from '../../test/support/load-config.js';
import { tempDir } from '../../test/support/temp-dir.js';

const warningsOf = async (written: Parameters<typeof loadWritten>[0]) =>
  (await loadWritten(written)).warnings.map(({ path, message }) => `${path}: ${message}`);

it('warns of key files that every user may read', async () => {
  const key = join(tempDir(), 'ca.key');
  await writeFile(key, 'secret');
  await chmod(key, 0o644);
  const yaml = `lease-ca-key: ${key}`;

  expect(await warningsOf({ yaml })).toEqual([
    `lease-ca-key: every user of this computer may read ${key}, which has a secret (mode 644): chmod o= ${key}`,
  ]);
  await chmod(key, 0o640);
  expect(await warningsOf({ yaml })).toEqual([]);
});

it.each(['/no/such/key', '/etc/passwd/key', `/${'long'.repeat(100)}`])(
  'leaves a key file that it cannot look at: %s',
  async (file) => {
    expect(await warningsOf({ yaml: `lease-ca-key: ${file}` })).toEqual([]);
  },
);

it.each(['0.0.0.0/0', '::/0'])('warns of the trusted proxies %s', async (range) => {
  expect(await warningsOf({ yaml: `webapp: {trusted-proxies: ["10.0.0.0/8", "${range}"]}` })).toEqual([
    expect.stringContaining(`webapp.trusted-proxies[1]: ${range} is every computer`),
  ]);
});

it('warns of secrets that webhooks send over plain HTTP to other computers', async () => {
  const hook = (name: string, url: string) => `{name: ${name}, url: "${url}", events: [condition-began]}`;
  const yaml = `webhooks: [${hook('a', 'http://hooks')}, ${hook('b', 'http://localhost:1')}, ${hook('c', 'https://h')}, ${hook('d', 'http://d')}]`;
  const secret = (name: string) => `{name: ${name}, secret: 0123456789abcdef}`;
  const secure = `webhooks: [${['a', 'b', 'c'].map(secret).join(', ')}]`;

  expect(await warningsOf({ yaml, secure })).toEqual([
    'webhooks[0].url: the secret of webhook "a" is sent over plain HTTP, where others can read it: use https://',
  ]);
});
