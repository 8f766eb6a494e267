import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { NodepoolClient } from '@nodepool/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { LeaseServer } from '../../../client/test/lease-server.js';
import { fakeProgram } from '../../test/fake-ssh.js';
import type { AcquireOptions } from './acquire-options.js';
import { findLeaseKey } from './lease-key.js';

const KEY = 'ssh-ed25519 AAAA alice';
const OPTIONS: AcquireOptions = {
  ...{ labels: ['small'], provider: undefined, priority: 200, timeoutMs: undefined, quiet: true, force: false },
  ...{
    purpose: 'test',
    server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false },
    sshKeyFile: undefined,
  },
};

async function find(
  changes: Partial<AcquireOptions>,
  takesSshKey = true,
  signal: AbortSignal = new AbortController().signal,
) {
  const server = await LeaseServer.start();
  server.takesSshKey = takesSshKey;
  return findLeaseKey(new NodepoolClient({ url: server.url }), { ...OPTIONS, ...changes }, signal);
}

function ownDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'lease-key-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function keyFile(): string {
  const directory = ownDirectory();
  writeFileSync(join(directory, 'id.pub'), `${KEY}\n`);
  return join(directory, 'id.pub');
}

it('is that of the command line, whatever the labels take', async () => {
  const file = keyFile();
  const key = await find({ sshKeyFile: file }, false);
  expect([key?.publicKey, key?.loginTo('1')]).toEqual([KEY, { identity: file, certificate: undefined }]);
  await key?.remove();
  writeFileSync(file.replace(/\.pub$/, ''), 'private');
  const whole = await find({ sshKeyFile: file });
  expect(whole?.loginTo('1').identity).toBe(file.replace(/\.pub$/, ''));
  await whole?.remove();
  expect(existsSync(file)).toBe(true);
  await expect(find({ sshKeyFile: '/no/such' })).rejects.toThrow('Cannot read the public key: ENOENT');
});

it.each([
  [
    '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
    /is no public key; name .*\.pub, or make/,
  ],
  [`${KEY}\n${KEY}\n`, /is no public key; name a \.pub file of one line$/],
  ['', /is no public key/],
])('is refused before anything is sent if it is no public key: %j', async (text, message) => {
  const file = keyFile();
  writeFileSync(file, text);

  await expect(find({ sshKeyFile: file })).rejects.toThrow(message);
});

it('is that of the identity of a command that logs in', async () => {
  const identity = keyFile().replace(/\.pub$/, '');

  writeFileSync(identity, 'private');
  const key = await find({ login: { identity } });
  expect([key?.publicKey, key?.loginTo('1').identity]).toEqual([KEY, identity]);
  await key?.remove();
  expect(await find({ login: { identity: '/no/such' } })).toBeUndefined();
});

it.each([{ login: { identity: undefined } }, {}])(
  'is made for a command without one, and removed: %j',
  async (options) => {
    const key = await find(options);

    const { identity = '' } = key?.loginTo('1') ?? {};
    expect(key?.publicKey).toMatch(/^ssh-ed25519 \S+ nodepool$/);
    expect(readFileSync(identity, 'utf8')).toContain('PRIVATE KEY');
    expect([statSync(identity).mode & 0o077, statSync(dirname(identity)).mode & 0o077]).toEqual([0, 0]);
    await key?.remove();
    expect(() => statSync(identity)).toThrow('ENOENT');
  },
);

it('is removed when it is interrupted while it is made', async () => {
  const directory = ownDirectory();
  vi.stubEnv('TMPDIR', directory);
  const began = join(directory, 'began');
  fakeProgram(directory, 'ssh-keygen', `touch '${began}'; exec sleep 600`);
  const abort = new AbortController();
  const finding = find({ login: { identity: undefined } }, true, abort.signal);
  const reason = new Error('Ctrl-C');
  const outcome = expect(finding).rejects.toBe(reason);
  await expect.poll(() => existsSync(began)).toBe(true);
  expect(readdirSync(directory).filter((name) => name.startsWith('nodepool-key-'))).toHaveLength(1);

  abort.abort(reason);

  await outcome;
  expect(readdirSync(directory).filter((name) => name.startsWith('nodepool-key-'))).toEqual([]);
});

it('is removed when the process exits, unless a person has it', async () => {
  const before = process.listeners('exit');
  const added = () => process.listeners('exit').filter((each) => !before.includes(each));
  const key = await find({ login: { identity: undefined } });
  const { identity = '' } = key?.loginTo('1') ?? {};

  for (const listener of added()) listener(0);
  expect(existsSync(identity)).toBe(false);
  await key?.keep();
  expect(added()).toEqual([]);
});

it.each([
  [{}, false],
  [{ login: { identity: undefined } }, false],
  [{ login: { identity: undefined }, labels: ['small', 'big'] }, true],
])('is not sent for %j, where labels take one: %s', async (changes, takesSshKey) => {
  expect(await find(changes, takesSshKey)).toBeUndefined();
});

const certified = (id: string, certificate: string | null) => ({ id, certificate });

it('has the newest certificate of each node, in files that keep their names', async () => {
  const key = await find({});
  await key?.store([certified('1', 'cert AAAA'), certified('2', null), certified('../3', 'cert CCCC')]);
  const first = key?.loginTo('1').certificate ?? '';
  expect(readFileSync(first, 'utf8')).toBe('cert AAAA\n');
  expect(key?.loginTo('2').certificate).toBeUndefined();
  expect(dirname(key?.loginTo('../3').certificate ?? '')).toBe(dirname(first));

  await key?.store([certified('1', 'cert BBBB'), certified('2', 'cert\nProxyCommand x')]);
  expect(key?.loginTo('1').certificate).toBe(first);
  expect(readFileSync(first, 'utf8')).toBe('cert BBBB\n');
  expect(key?.loginTo('2').certificate).toBeUndefined();

  const storing = key?.store([certified('1', 'cert DDDD')]);
  await key?.remove();
  await storing;
  await key?.store([certified('1', 'cert EEEE')]);
  expect(existsSync(dirname(first))).toBe(false);
});

it('is not needed by a command that does not log in, on a computer without ssh-keygen', async () => {
  vi.stubEnv('PATH', '/nonexistent');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await find({})).toBeUndefined();
  await expect(find({ login: { identity: undefined } })).rejects.toThrow('Cannot make a key with ssh-keygen');
});
