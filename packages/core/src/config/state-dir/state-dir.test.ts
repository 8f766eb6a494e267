import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  isProcessRunning,
  readEmbeddedServerInfo,
  removeEmbeddedServerInfo,
  stateDirCandidates,
  stateDirOf,
  writeEmbeddedServerInfo,
} from './state-dir.js';

describe('default state directory', () => {
  it.each([
    ['what systemd assigned', { STATE_DIRECTORY: '/var/lib/a:/var/lib/b' }, 0, '/var/lib/a'],
    ['the system directory for root', {}, 0, '/var/lib/nodepool'],
    ['XDG_STATE_HOME for users', { XDG_STATE_HOME: '/xdg' }, 1000, '/xdg/nodepool'],
    ['the home directory otherwise', {}, 1000, '/home/u/.local/state/nodepool'],
  ])('is %s', (_name, env, uid, expected) => {
    expect(stateDirOf({ stateDir: undefined, env }, { uid, home: '/home/u' })).toBe(expected);
  });

  it('lets users find a server that root runs', () => {
    expect(stateDirCandidates({ stateDir: undefined, env: {} }, { uid: 1000, home: '/home/u' })).toEqual([
      '/home/u/.local/state/nodepool',
      '/var/lib/nodepool',
    ]);
  });
});

it('uses only the given state directory', () => {
  const options = { stateDir: '/given', env: { STATE_DIRECTORY: '/var/lib/a' } };

  expect(stateDirOf(options)).toBe('/given');
  expect(stateDirCandidates(options)).toEqual(['/given']);
});

describe('embedded server info', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-state-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('can be read until removed', async () => {
    await writeEmbeddedServerInfo(dir, { host: '127.0.0.1', port: 2181, pid: 42 });
    const found = readEmbeddedServerInfo(dir);
    await removeEmbeddedServerInfo(dir);

    expect(found).toEqual({ host: '127.0.0.1', port: 2181, pid: 42 });
    expect(readEmbeddedServerInfo(dir)).toBeUndefined();
  });

  it.each([
    ['owner', 0, '600'],
    ['group', 0o077, '640'],
    ['anyone', 0o077, '644'],
  ] as const)('is readable for those who may use the server: %s, whatever the umask', async (access, umask, mode) => {
    const usual = process.umask(umask);
    onTestFinished(() => void process.umask(usual));
    await writeEmbeddedServerInfo(dir, { host: '127.0.0.1', port: 2181, pid: 42 }, access);

    const { mode: found } = await stat(join(dir, 'embedded-zookeeper.json'));
    expect((found & 0o777).toString(8)).toBe(mode);
  });

  it('is undefined if the file is damaged', async () => {
    await writeFile(join(dir, 'embedded-zookeeper.json'), '{"host": ');

    expect(readEmbeddedServerInfo(dir)).toBeUndefined();
  });
});

describe('embedded server info that cannot be read', () => {
  it('is an error with a remedy', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'nodepool-state-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    await mkdir(join(dir, 'embedded-zookeeper.json'));

    expect(() => readEmbeddedServerInfo(dir)).toThrow(
      /run this as the launcher's user; to lease machines, socket-mode .* is enough; .*embedded-zookeeper-access.* \(chmod g\+x or o\+x\)$/,
    );
  });
});

describe('isProcessRunning', () => {
  it('recognizes a running process', () => {
    expect(isProcessRunning(process.pid)).toBe(true);
  });
});
