import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { silentZooKeeperLogger } from '../base/logger.js';
import { Listeners } from './listeners.js';
import type { EmbeddedServerOptions } from './types.js';

type Where = Pick<EmbeddedServerOptions, 'host' | 'port' | 'socket'>;

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'listeners-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function listeners(where: Where, onSocket: (socket: Socket, isLocal: boolean) => void = (socket) => socket.destroy()) {
  const made = new Listeners({ dataDir: '/data', ...where }, silentZooKeeperLogger, onSocket);
  onTestFinished(() => made.close());
  return made;
}

it('listens on a socket with its permissions and on a port, and reports which one a connection used', async () => {
  const path = join(newDirectory(), 'own', 'socket');
  const local: boolean[] = [];
  const made = listeners({ socket: { path, mode: 0o660 }, port: 0 }, (socket, isLocal) => {
    local.push(isLocal);
    socket.destroy();
  });

  await made.listen();
  for (const target of [{ path }, { port: made.port, host: '127.0.0.1' }])
    await once(connect(target).resume(), 'close');

  expect(local).toEqual([true, false]);
  expect(lstatSync(path).mode & 0o777).toBe(0o660);
  expect(lstatSync(join(path, '..')).mode & 0o777).toBe(0o750);
  expect(made.connectString).toBe(`unix:${path}`);
});

it('replaces files left over from a killed server, and removes its own socket when it closes', async () => {
  const path = join(newDirectory(), 'own', 'socket');
  mkdirSync(join(path, '..'), { mode: 0o700 });
  writeFileSync(path, 'left');
  writeFileSync(`${path}.new`, 'left');
  const made = listeners({ socket: { path, mode: 0o600 } });

  await made.listen();
  const isSocket = lstatSync(path).isSocket();
  await made.close();

  expect(isSocket).toBe(true);
  expect(made.port).toBe(0);
  expect(existsSync(path)).toBe(false);
});

it('keeps the socket of a server that has taken over the directory', async () => {
  const path = join(newDirectory(), 'own', 'socket');
  const made = listeners({ socket: { path, mode: 0o600 } });
  await made.listen();
  const successor = listeners({ socket: { path, mode: 0o600 } });
  await successor.listen();

  await made.close();

  expect(existsSync(path)).toBe(true);
});

it('names an alternative to an address on which it cannot listen', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as { port: number };
  const long = join(newDirectory(), 'x'.repeat(120), 'socket');

  await expect(listeners({ port }).listen()).rejects.toMatchObject({
    code: 'ZK_EMBEDDED_LISTEN',
    message: expect.stringMatching(
      /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\. Choose another port$/,
    ) as string,
  });
  await expect(listeners({ socket: { path: long, mode: 0o600 } }).listen()).rejects.toMatchObject({
    message: expect.stringMatching(/the path is \d+ bytes too long\. Choose a shorter directory$/) as string,
  });
});

it('rejects a directory behind a symbolic link', async () => {
  const directory = newDirectory();
  symlinkSync(directory, join(directory, 'link'));

  await expect(
    listeners({ socket: { path: join(directory, 'link', 'socket'), mode: 0o600 } }).listen(),
  ).rejects.toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });
});
