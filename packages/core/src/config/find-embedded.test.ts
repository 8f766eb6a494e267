import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type EmbeddedServer, startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { chmodSync, mkdirSync } from 'node:fs';
import { connect, ZkLock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { embeddedDataDir, findEmbeddedServer } from './find-embedded.js';
import { embeddedSocket, writeEmbeddedServerInfo } from './state-dir/state-dir.js';

describe('findEmbeddedServer', () => {
  let dir: string;
  let server: EmbeddedServer | undefined;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-find-'));
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    await rm(dir, { recursive: true });
  });

  async function start(): Promise<EmbeddedServer> {
    const socket = { path: embeddedSocket(dir), mode: 0o600 };
    server = await startEmbeddedServer({ dataDir: embeddedDataDir(dir), socket });
    await writeEmbeddedServerInfo(dir, { socket: socket.path, pid: process.pid });
    return server;
  }

  it('returns the socket of a running server, at any position in the list of directories', async () => {
    const running = await start();

    const found = await findEmbeddedServer([join(dir, 'missing'), dir]);
    await running.close();

    expect(found).toEqual({
      servers: [{ host: embeddedSocket(dir), port: 0 }],
      tls: undefined,
      serverPauseMs: 150_000,
      stateDir: dir,
    });
    expect(await findEmbeddedServer([dir])).toBeUndefined();
  });

  it('lets a client keep its session and locks during a server restart of two minutes', async () => {
    const first = await start();
    const clock = new VirtualClock();
    const zk = await connect({ ...(await findEmbeddedServer([dir])), servers: first.connectString, clock });
    onTestFinished(async () => {
      const closed = zk.close();
      await clock.advance(1_000);
      await closed;
    });
    const lock = new ZkLock(zk, '/lock', { clock });
    await lock.acquire();
    const { sessionId } = zk;

    await first.close();
    await vi.waitUntil(() => zk.state === 'SUSPENDED', { interval: 5 });
    await clock.advance(120_000);
    await start();
    await vi.waitUntil(async () => clock.advance(100).then(() => zk.state !== 'SUSPENDED'), { interval: 5 });

    expect([zk.state, zk.sessionId, lock.held]).toEqual(['CONNECTED', sessionId, true]);
  });

  it('ignores the files of a killed server', async () => {
    await writeEmbeddedServerInfo(dir, { socket: embeddedSocket(dir), pid: process.pid });
    mkdirSync(dirname(embeddedSocket(dir)), { mode: 0o700 });

    expect(await findEmbeddedServer([dir])).toBeUndefined();
  });

  it('does not use a socket that other users could have created', async () => {
    await start();
    chmodSync(dirname(embeddedSocket(dir)), 0o770);

    await expect(findEmbeddedServer([dir])).rejects.toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });
  });

  it.each([
    [true, /its content was moved to zk1:2181; name these servers in zookeeper-servers/],
    [false, /a move of its content to zk1:2181 is not finished; repeat nodepool move-to-ensemble/],
  ])('says where the database is that was moved (done: %j)', async (isDone, message) => {
    mkdirSync(embeddedDataDir(dir));
    await writeFile(join(embeddedDataDir(dir), 'moved.json'), JSON.stringify({ id: 'x', to: 'zk1:2181', isDone }));

    await expect(findEmbeddedServer([join(dir, 'missing'), dir])).rejects.toMatchObject({
      code: 'NODEPOOL_STATE_DIR',
      message: expect.stringMatching(message) as string,
    });
  });

  async function leaveOldInfo(port: number): Promise<void> {
    const info = { host: '127.0.0.1', port, pid: process.pid };
    await writeFile(join(dir, 'embedded-zookeeper.json'), JSON.stringify(info));
  }

  it('names the remedy for a server of an earlier version without a socket', async () => {
    server = await startEmbeddedServer({ dataDir: embeddedDataDir(dir), port: 0 });
    await leaveOldInfo(server.port);

    await expect(findEmbeddedServer([dir])).rejects.toMatchObject({
      code: 'NODEPOOL_STATE_DIR',
      message: expect.stringContaining('restart the launcher') as string,
    });
  });

  it('ignores the files of a killed server of an earlier version whose process id was reused', async () => {
    server = await startEmbeddedServer({ dataDir: embeddedDataDir(dir), port: 0 });
    const { port } = server;
    await server.close();
    await leaveOldInfo(port);

    expect(await findEmbeddedServer([dir])).toBeUndefined();
  });
});
