import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compileServer } from './compiled-server.js';
import { RawClient, type SessionCredentials } from './raw-client.js';
import { create, exists, setData } from './raw-requests.js';

/** What the server answers to a four-letter word. */
function ask(port: number, word: string): Promise<string> {
  const socket = createConnection(port, '127.0.0.1');
  socket.write(word);
  return text(socket);
}

const DISK_BYTES = 8 * 1024 * 1024;
/** Mounts a small disk in a namespace of its own, says so, runs the rest once it may, and says when that has ended. */
const SCRIPT =
  'mount -t tmpfs -o size="$1",mode=0755 none "$2" && echo mounted && read -r _ && shift 2 && { "$@"; echo over; read -r _; }';
const NAMESPACE = [
  '--user',
  '--map-root-user',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child=KILL',
  'sh',
  '-c',
  SCRIPT,
  'sh',
  String(DISK_BYTES),
];

describe('embedded server on a disk that is full', () => {
  let root: string;
  let program: string;
  let disk: string;
  let child: ChildProcess;
  let output: string;
  let wake: () => void;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'nodepool-disk-'));
    program = await compileServer(join(root, 'program'));
    await mkdir(join(root, 'disk'));
  });
  afterAll(() => rm(root, { recursive: true }));

  beforeEach(async () => {
    const mountPoint = join(root, 'disk');
    output = '';
    wake = () => undefined;
    const command = [process.execPath, program, join(mountPoint, 'data'), '0'];
    child = spawn('unshare', [...NAMESPACE, mountPoint, ...command], { stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        wake();
      });
    }
    child.once('close', () => {
      output += 'ended';
      wake();
    });
    await said(/mounted\n/);
    // The disk as the child sees it.
    disk = join('/proc', String(child.pid), 'root', mountPoint);
    expect((await statfs(disk)).blocks * (await statfs(disk)).bsize).toBe(DISK_BYTES);
  });
  afterEach(async () => {
    const ended = child.exitCode === null && new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
  });

  async function said(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(output);
      if (found) return found[1] ?? '';
      if (output.endsWith('ended')) throw new Error(`the server ended: ${output}`);
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  /** Starts the server. @returns its port */
  async function start(): Promise<number> {
    child.stdin?.write('go\n');
    return Number(await said(/mounted\n(\d+)\n/));
  }

  /** Leaves that much free. */
  async function fillUpTo(freeBytes: number): Promise<void> {
    await rm(join(disk, 'filler'), { force: true });
    const { bavail, bsize } = await statfs(disk);
    await writeFile(join(disk, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - freeBytes)));
  }

  /** Attaches to the session as soon as the server takes clients. */
  async function reopened(port: number, session: SessionCredentials): Promise<RawClient> {
    for (;;) {
      const client = await RawClient.open(port, { timeoutMs: 30_000, session });
      if (!client.isClosed && client.session.id !== 0n) return client;
      client.drop();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  it('serves again when there is space for writing, though not for all its data once more', async () => {
    const port = await start();
    const client = await RawClient.open(port, { timeoutMs: 30_000 });
    const paths = Array.from({ length: 30 }, (_, index) => `/kept-${index}`);
    await client.call(...paths.map((path) => create(path, 0, 100_000)));
    client.takeMessages();

    await fillUpTo(50_000);
    await client.call(...Array.from({ length: 5 }, () => setData('/kept-0', 100_000)));
    const acknowledged = client.takeMessages().length;
    const why = await ask(port, 'srvr');
    await fillUpTo(700_000);
    const again = await reopened(port, client.session);
    await again.call(...paths.map((path) => exists(path)), setData('/kept-1', 1000));
    const replies = again.takeMessages();
    again.drop();

    expect(client.isClosed).toBe(true);
    expect(why).toMatch(
      /^This ZooKeeper instance is not currently serving requests\nit cannot write in \/.*\/data: ENOSPC/,
    );
    expect(why).toContain('; free space on that disk, and the server resumes\n');
    expect(acknowledged).toBeLessThan(5);
    expect(replies.map(({ error }) => error)).toEqual([...paths, 'set'].map(() => 0));
    expect(replies[0]).toMatchObject({ body: { stat: { version: acknowledged } } });
    expect((await readdir(join(disk, 'data'))).filter((name) => /snapshot|probe|tmp/.test(name))).toEqual([]);
  });

  it('does not start, says what to do, and leaves nothing behind', async () => {
    await mkdir(join(disk, 'data'));
    await fillUpTo(0);

    child.stdin?.write('go\n');
    await said(/over\n/);

    expect(output).toMatch(/ZK_EMBEDDED_IO/);
    expect(output).toMatch(/cannot use .*ENOSPC.*space left/);
    expect(await readdir(join(disk, 'data'))).toEqual([]);
  });
});
