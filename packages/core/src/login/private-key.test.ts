import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newKey } from '../../test/support/ssh-host.js';
import { readPrivateKey } from './private-key.js';

let dir: string;
let file: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodepool-key-'));
  file = join(dir, 'lease_key');
});

afterEach(() => rm(dir, { recursive: true, force: true }));

it('reads a key, again after it was replaced', async () => {
  for (const key of [newKey(), newKey()]) {
    await writeFile(file, key.private, { mode: 0o600 });
    expect((await readPrivateKey(file)).toString()).toBe(key.private);
  }
});

it.each([
  ['that others may read', async () => writeFile(file, newKey().private, { mode: 0o644 }), /mode 644.*chmod 600/],
  ['that is missing', () => Promise.resolve(), /cannot be read \(ENOENT/],
  ['that is public', async () => writeFile(file, newKey().public, { mode: 0o600 }), /without \.pub/],
  ['in no known format', async () => writeFile(file, 'secret-text', { mode: 0o600 }), /no private key in the format/],
  ['of another size', async () => writeFile(file, Buffer.alloc(70_000), { mode: 0o600 }), /70000 bytes/],
])('refuses a key %s, with the file and the fix', async (_what, make, text) => {
  await make();
  const refusal = expect(readPrivateKey(file)).rejects;
  await refusal.toThrow(text);
  await refusal.toMatchObject({ code: 'NODEPOOL_SSH', failure: 'key-file' });
  await refusal.toThrow(file);
  await refusal.not.toThrow(/secret-text/);
});

it('refuses a key with a passphrase', async () => {
  execFileSync('openssl', ['genrsa', '-aes256', '-passout', 'pass:x', '-traditional', '-out', file, '2048']);
  await chmod(file, 0o600);
  expect(await readFile(file, 'utf8')).toMatch(/ENCRYPTED/);
  await expect(readPrivateKey(file)).rejects.toThrow(/passphrase.*ssh-keygen -p/);
});
