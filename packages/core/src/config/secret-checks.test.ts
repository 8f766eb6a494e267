import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from './load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
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

it('warns of a secure file, and of the key for tokens in the state directory, that every user may read', async () => {
  const dir = tempDir({ 'nodepool.yaml': '{}', 'secure.yaml': '{}', 'lease-token.key': 'x'.repeat(64) });
  const options = { file: join(dir, 'nodepool.yaml'), secureFile: join(dir, 'secure.yaml'), stateDir: dir };
  const warned = async () =>
    (await loadConfig({ ...options, mode: 'validate' })).warnings.map(({ message }) => message);

  expect(await warned()).toEqual([]);
  await Promise.all(['secure.yaml', 'lease-token.key'].map((name) => chmod(join(dir, name), 0o644)));
  expect(await warned()).toEqual([
    expect.stringContaining(`may read ${dir}/lease-token.key`),
    expect.stringContaining(`may read ${dir}/secure.yaml`),
  ]);
});

it('warns of files of a provider that hold a secret: those it names, and others by what they have', async () => {
  const files = {
    ...{ 'clouds.yaml': 'clouds: {a: {}}', 'secure.yaml': 'a:\n  auth:\n    password: x', 'public.pem': 'CERTIFICATE' },
    ...{ 'by-token': 'users:\n- user:\n    token: x', 'by-key': '{\n"client-key-data": "x"}', 'named.json': '{}' },
  };
  const dir = tempDir(files);
  const paths = Object.keys(files).map((name) => join(dir, name));
  const plain = plainDriver('plain');
  const getProviderConfig: typeof plain.getProviderConfig = (entry, context) => ({
    ...plain.getProviderConfig(entry, context),
    ...{ files: paths.slice(0, -1), secretFiles: paths.slice(-1) },
  });
  const input = {
    yaml: 'providers: [{name: p, driver: plain, pools: []}]',
    drivers: registryOf({ ...plain, getProviderConfig }),
  };
  const warned = async () =>
    (await loadWritten(input)).warnings.flatMap(({ path, message }) => {
      const [, name] = /may read \S*\/(\S+),/.exec(message) ?? [];
      return name === undefined ? [] : [`${path} ${name}`];
    });

  expect(await warned()).toEqual([]);
  await Promise.all(paths.map((path) => chmod(path, 0o644)));
  const found = ['named.json', 'secure.yaml', 'by-token', 'by-key'];
  expect(await warned()).toEqual(found.map((name) => `providers[0] ${name}`));
});
