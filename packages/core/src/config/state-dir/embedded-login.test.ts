import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDirectoryInUse, startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureEmbeddedLogin, readEmbeddedLogin } from './embedded-login.js';
import { embeddedDataDir, findEmbeddedServer } from '../find-embedded.js';
import { writeEmbeddedServerInfo } from './state-dir.js';

describe('login of the embedded server', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-login-'));
    file = join(dir, 'embedded-zookeeper.login');
  });
  afterEach(() => rm(dir, { recursive: true }));

  const modeOf = async () => ((await stat(file)).mode & 0o777).toString(8);

  it('is random, for the owner alone, and the same at each start', async () => {
    const first = await ensureEmbeddedLogin(dir, 'owner');
    const second = await ensureEmbeddedLogin(dir, 'owner');
    const elsewhere = await mkdtemp(join(tmpdir(), 'nodepool-login-'));
    const other = await ensureEmbeddedLogin(elsewhere, 'owner');
    await rm(elsewhere, { recursive: true });

    expect(first).toMatch(/^nodepool:[0-9a-f]{48}$/);
    expect(second).toBe(first);
    expect(readEmbeddedLogin(dir)).toBe(first);
    expect(other).not.toBe(first);
    expect(await modeOf()).toBe('600');
  });

  it('is readable by the group on request, and by the owner alone again', async () => {
    const login = await ensureEmbeddedLogin(dir, 'group');
    const asGroup = await modeOf();
    const again = await ensureEmbeddedLogin(dir, 'owner');

    expect([asGroup, await modeOf()]).toEqual(['640', '600']);
    expect(again).toBe(login);
  });

  it('is gone when anyone may use the server', async () => {
    await ensureEmbeddedLogin(dir, 'owner');

    expect(await ensureEmbeddedLogin(dir, 'anyone')).toBeUndefined();
    expect(readEmbeddedLogin(dir)).toBeUndefined();
    await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is refused when the file holds something else, with the way out', async () => {
    await writeFile(file, 'no login');

    expect(() => readEmbeddedLogin(dir)).toThrow(/embedded-zookeeper\.login.*remove it and start the launcher anew/);
    await expect(ensureEmbeddedLogin(dir, 'owner')).rejects.toMatchObject({ code: 'NODEPOOL_STATE_DIR' });
  });

  it('says what to do when the file cannot be read', async () => {
    await rm(file, { force: true });
    await mkdir(file);

    expect(() => readEmbeddedLogin(dir)).toThrow(/run this as the launcher's user, or set embedded-zookeeper-access/);
  });
});

describe('findEmbeddedServer', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-find-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('gives address and login of a server that runs', async () => {
    const login = await ensureEmbeddedLogin(dir, 'owner');
    const server = await startEmbeddedServer({ dataDir: embeddedDataDir(dir), login });
    await writeEmbeddedServerInfo(dir, { host: server.host, port: server.port, pid: 1 });

    const found = await findEmbeddedServer([join(dir, 'missing'), dir]);
    await server.close();

    expect(found).toEqual({
      servers: [{ host: '127.0.0.1', port: server.port }],
      auth: [{ scheme: 'digest', auth: login }],
      serverPauseMs: 60_000,
    });
    expect(await isDirectoryInUse(embeddedDataDir(dir))).toBe(false);
    expect(await findEmbeddedServer([dir])).toBeUndefined();
  });

  it('does not tell the login to somebody who took the port of a server that died', async () => {
    await ensureEmbeddedLogin(dir, 'owner');
    const elsewhere = await mkdtemp(join(tmpdir(), 'nodepool-find-'));
    const impostor = await startEmbeddedServer({ dataDir: elsewhere });
    await writeEmbeddedServerInfo(dir, { host: impostor.host, port: impostor.port, pid: process.pid });

    const found = await findEmbeddedServer([dir]);
    await impostor.close();
    await rm(elsewhere, { recursive: true });

    expect(found).toBeUndefined();
  });
});
