import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodepoolClient } from '@nodepool/client';
import { expect, it, onTestFinished } from 'vitest';
import { LeaseServer } from '../../../client/test/lease-server.js';
import type { AcquireOptions } from './acquire-options.js';
import { findLeaseKey } from './lease-key.js';

const KEY = 'ssh-ed25519 AAAA alice';
const OPTIONS: AcquireOptions = {
  ...{ labels: ['small'], provider: undefined, priority: 200, timeoutMs: undefined, quiet: true, force: false },
  ...{ purpose: 'test', server: { url: undefined, tokenFile: undefined, caFile: undefined }, sshKeyFile: undefined },
};

async function find(changes: Partial<AcquireOptions>, takesSshKey = true) {
  const server = await LeaseServer.start();
  server.takesSshKey = takesSshKey;
  return findLeaseKey(new NodepoolClient({ url: server.url }), { ...OPTIONS, ...changes });
}

function keyFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-key-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'id.pub'), `${KEY}\n`);
  return join(directory, 'id.pub');
}

it('is that of the command line, whatever the labels take', async () => {
  expect(await find({ sshKeyFile: keyFile() }, false)).toMatchObject({ publicKey: KEY, identity: undefined });
  await expect(find({ sshKeyFile: '/no/such' })).rejects.toThrow('Cannot read the public key: ENOENT');
});

it('is that of the identity of a command that logs in', async () => {
  const identity = keyFile().replace(/\.pub$/, '');

  expect(await find({ login: { identity } })).toMatchObject({ publicKey: KEY, identity: undefined });
  expect(await find({ login: { identity: '/no/such' } })).toBeUndefined();
});

it('is made for a command that logs in without one, and removed', async () => {
  const key = await find({ login: { identity: undefined } });

  const identity = key?.identity ?? '';
  expect(key?.publicKey).toMatch(/^ssh-ed25519 \S+ nodepool$/);
  expect(readFileSync(identity, 'utf8')).toContain('PRIVATE KEY');
  expect(statSync(identity).mode & 0o077).toBe(0);
  await key?.remove();
  expect(() => statSync(identity)).toThrow('ENOENT');
});

it.each([
  [{}, true],
  [{ login: { identity: undefined } }, false],
  [{ login: { identity: undefined }, labels: ['small', 'big'] }, true],
])('is not sent for %j, where labels take one: %s', async (changes, takesSshKey) => {
  expect(await find(changes, takesSshKey)).toBeUndefined();
});
