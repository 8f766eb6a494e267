import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedServer, type EmbeddedServerError, startEmbeddedServer } from '../../src/server/index.js';
import { compileServer } from './compiled-server.js';
import { RawClient } from './raw-client.js';
import { bare, create, exists } from './raw-requests.js';

/** Runs a program as if on another machine, which shares only the disk: with a boot id of its own. */
const OTHER_MACHINE =
  'mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec unshare --net sh -c \'ip link set lo up; exec "$@"\' sh "$@"';

describe('a directory that is taken over while its holder does not run', () => {
  let root: string;
  let program: string;
  let dataDir: string;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'nodepool-lost-'));
    program = await compileServer(join(root, 'program'));
    await writeFile(join(root, 'boot_id'), '11111111-2222-4333-8444-555555555555\n');
  });
  afterAll(() => rm(root, { recursive: true }));
  beforeEach(async () => {
    dataDir = await mkdtemp(join(root, 'data-'));
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => kill(child)));
  });

  async function start(where: 'here' | 'elsewhere'): Promise<{ child: ChildProcess; port: number }> {
    const command = [process.execPath, program, dataDir, '0'];
    const isolated = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', OTHER_MACHINE, 'sh'];
    const [name = '', ...args] = where === 'here' ? command : [...isolated, join(root, 'boot_id'), ...command];
    const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const port = await new Promise<number>((resolve, reject) => {
      child.stdout.once('data', (line: Buffer) => resolve(Number(line.toString())));
      child.once('close', () => reject(new Error('the server ended')));
    });
    return { child, port };
  }

  it('makes the holder stop before it answers, and everything that was acknowledged is kept', async () => {
    const holder = await start('here');
    const client = await RawClient.open(holder.port, { timeoutMs: 60_000 });
    await client.call(create('/before'));
    client.takeMessages();
    holder.child.kill('SIGSTOP');
    client.send(create('/late'), exists('/before'), bare(11));

    const { child: successor } = await start('elsewhere');
    holder.child.kill('SIGCONT');
    await client.until(() => client.isClosed);
    await kill(successor);
    await kill(holder.child);

    expect(client.takeMessages()).toEqual([]);
    const third = await start('here');
    const reader = await RawClient.open(third.port, { timeoutMs: 60_000 });
    await reader.call(exists('/before'), exists('/late'));
    expect(reader.takeMessages().map(({ error }) => error)).toEqual([0, -101]);
  });
});

describe('a directory that is gone while a server uses it', () => {
  let root: string;
  let dataDir: string;
  let server: EmbeddedServer;
  let client: RawClient;
  let lost: Promise<EmbeddedServerError>;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'nodepool-gone-'));
    dataDir = join(root, 'data');
    lost = new Promise((resolve, reject) => {
      startEmbeddedServer({ dataDir, onLost: resolve }).then((started) => (server = started), reject);
    });
    await expect.poll(() => server?.isServing).toBe(true);
    client = await RawClient.open(server.port, { timeoutMs: 60_000 });
    await client.call(create('/before'));
    client.takeMessages();
  });
  afterEach(async () => {
    client.drop();
    await server.close();
    await rm(root, { recursive: true });
  });

  it('acknowledges no write to files that were removed, and stops', async () => {
    await rm(dataDir, { recursive: true });
    await client.call(create('/after'));

    expect(client.takeMessages()).toEqual([]);
    expect(client.isClosed).toBe(true);
    expect(await lost).toMatchObject({ code: 'ZK_EMBEDDED_LOST', path: dataDir });
    expect(server.isServing).toBe(false);
    await expect(readdir(dataDir)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('stops without being asked, and says what to do', async () => {
    await rename(dataDir, `${dataDir}.moved`);
    await mkdir(dataDir);

    expect((await lost).message).toMatch(/its files were removed.*restore it from a backup.*start again/);
    expect(server.isServing).toBe(false);
    expect(await readdir(dataDir)).toEqual([]);
  });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
}
