import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryLock } from './directory-lock.js';
import { compileServer } from '../../../test/server/compiled-server.js';

/** A PID (and mount, and user) namespace of its own, as a container has; killing `unshare` kills what runs in it. */
const CONTAINER = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child=KILL'];
const NETWORK = [...CONTAINER, '--net'];

/** Silence after which a claim that cannot be queried expires. */
const SILENCE_MS = 5000;

interface Outcome {
  child: ChildProcess;
  /** The port, or what the server wrote about why it does not start. */
  said: string;
  serves: boolean;
}

describe('lock of a data directory', () => {
  let root: string;
  let program: string;
  let dataDir: string;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'nodepool-lock-'));
    program = await compileServer(join(root, 'program'));
  });
  afterAll(() => rm(root, { recursive: true }));
  beforeEach(async () => {
    dataDir = await mkdtemp(join(root, 'data-'));
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => kill(child)));
  });

  function start(wrapper: readonly string[] = [], directory = dataDir): Promise<Outcome> {
    const [command = '', ...args] = [...wrapper, process.execPath, program, directory, '0'];
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return new Promise((resolve, reject) => {
      let errors = '';
      child.once('error', reject);
      child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      child.stdout.once('data', (chunk: Buffer) => resolve({ child, said: chunk.toString().trim(), serves: true }));
      child.once('close', () => resolve({ child, said: errors, serves: false }));
    });
  }

  const places: [string, readonly string[]][] = [
    ['this machine', []],
    ['a container', CONTAINER],
  ];
  const combinations = places.flatMap(([holderIs, holder]) =>
    places.map(([rivalIs, rival]): [string, string, readonly string[], readonly string[]] => {
      return [rivalIs, holderIs, rival, holder];
    }),
  );

  it.each(combinations)(
    'keeps a server in %s off while one in %s serves, and lets it in once that is killed',
    async (...combination) => {
      const [, , rival, holder] = combination;
      const beganMs = performance.now();
      const first = await start(holder);
      const startMs = performance.now() - beganMs;

      const refused = await start(rival);
      await kill(first.child);
      const killedAt = performance.now();
      const successor = await start(rival);
      const tookMs = performance.now() - killedAt;

      expect(first).toMatchObject({ serves: true });
      expect(refused).toMatchObject({ serves: false, said: expect.stringContaining('ZK_EMBEDDED_LOCKED') as string });
      expect(successor).toMatchObject({ serves: true });
      expect(tookMs, 'no longer than a start, without the wait for a silent holder').toBeLessThan(startMs + SILENCE_MS);
    },
  );

  it('respects the lock of a stopped process, also from another network', async () => {
    const holder = await start();
    holder.child.kill('SIGSTOP');

    const refused = await start(NETWORK);

    expect(refused.said).toContain(`in use by the server in process ${holder.child.pid ?? 0}`);
  });

  it('grants the lock to at most one of many that start at once, repeatedly', async () => {
    for (let round = 0; round < 5; round++) {
      const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => DirectoryLock.take(dataDir)));
      const locked = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
      await Promise.all(locked.map((lock) => lock.release()));

      expect(locked).toHaveLength(1);
    }
    expect((await readdir(dataDir)).filter((name) => name.startsWith('server.'))).toEqual([]);
    await (await DirectoryLock.take(dataDir)).release();
  });

  it('removes a claim of another boot unless a process touches it', async () => {
    const token = '00000000-0000-4000-8000-000000000000';
    const path = join(dataDir, `server.${token}.lock`);
    await writeFile(path, JSON.stringify({ pid: 1, host: 'other', bootId: 'another' }));
    const beat = setInterval(() => void utimes(path, new Date(), new Date()), 1000);

    const refused = await DirectoryLock.take(dataDir).catch((error: unknown) => error);
    clearInterval(beat);
    const lock = await DirectoryLock.take(dataDir);
    await lock.release();

    expect(refused).toMatchObject({ message: expect.stringContaining('process 1 of other') as string });
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('checks many unreadable claims at the same time', async () => {
    const tokens = Array.from({ length: 5 }, (_, index) => `${index}0000000-0000-4000-8000-000000000000`);
    await Promise.all(tokens.map((token) => writeFile(join(dataDir, `server.${token}.lock`), '')));

    const beganMs = performance.now();
    const lock = await DirectoryLock.take(dataDir);
    const tookMs = performance.now() - beganMs;
    await lock.release();

    expect(tookMs).toBeLessThan(2 * SILENCE_MS);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it('locks a directory whose path is too long for a socket', async () => {
    const deep = join(dataDir, 'd'.repeat(100), 'e'.repeat(100));
    await mkdir(deep, { recursive: true });
    const lock = await DirectoryLock.take(deep);

    const refused = await start([], deep);
    await lock.release();
    const successor = await start([], deep);

    expect(refused).toMatchObject({ serves: false });
    expect(successor).toMatchObject({ serves: true });
  });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
}
