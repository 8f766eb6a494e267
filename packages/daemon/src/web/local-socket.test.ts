import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { LocalSocket } from './local-socket.js';

function stateDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-local-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function socketIn(directory: string, access: 'owner' | 'group' | 'anyone' = 'group'): LocalSocket {
  const clock = new VirtualClock(1_000);
  const socket = new LocalSocket({ stateDir: directory, access, hostname: 'nl01', clock, logger: silentLogger });
  onTestFinished(() => socket.close());
  return socket;
}

/** Listens, and answers each request with its owner. */
async function listening(directory: string, access?: 'owner' | 'group' | 'anyone'): Promise<LocalSocket> {
  const socket = socketIn(directory, access);
  await socket.listen((incoming, response) => {
    response.end(JSON.stringify({ owner: socket.ownerOf(incoming) ?? null, isOwn: socket.has(incoming) }));
  });
  return socket;
}

function call({ path: socketPath }: LocalSocket, path: string, authorization?: string) {
  return new Promise<unknown>((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    const sent = request({ socketPath, path, headers, method: 'POST' }, (answer: IncomingMessage) => {
      json(answer).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);

it('tells who calls after a login', async () => {
  const socket = await listening(stateDir());
  const { name, proof } = (await call(socket, '/local-login')) as { name: string; proof: string };
  mkdirSync(join(dirname(socket.path), 'logins', name), { mode: 0o700 });
  const { token } = (await call(socket, '/local-login', `Local ${name}:${proof}`)) as { token: string };

  expect(await call(socket, '/x', `Bearer ${token}`)).toEqual({ owner: `uid:${process.getuid?.()}@nl01`, isOwn: true });
  expect(await call(socket, '/x')).toEqual({ owner: null, isOwn: true });
  expect(await call(socket, '/local-login', `Local ${name}:${proof}`)).toMatchObject({ error: 'unknown-user' });
});

it('knows no user who comes another way, whatever the token', async () => {
  const socket = await listening(stateDir());
  const { name, proof } = (await call(socket, '/local-login')) as { name: string; proof: string };
  mkdirSync(join(dirname(socket.path), 'logins', name), { mode: 0o700 });
  const { token } = (await call(socket, '/local-login', `Local ${name}:${proof}`)) as { token: string };

  const stranger = { socket: {}, headers: { authorization: `Bearer ${token}` } } as IncomingMessage;
  expect(socket.ownerOf(stranger)).toBeUndefined();
  expect(socket.has(stranger)).toBe(false);
});

it.each([
  ['owner', '600', '700', '700'],
  ['group', '660', '750', '1730'],
  ['anyone', '666', '755', '1733'],
] as const)('is for %s, in a directory that only this user writes to', async (access, mode, directory, logins) => {
  const { path } = await listening(stateDir(), access);

  expect([modeOf(path), modeOf(dirname(path)), modeOf(join(dirname(path), 'logins'))]).toEqual([
    mode,
    directory,
    logins,
  ]);
});

it('replaces the socket of a killed launcher, and removes what logins have left', async () => {
  const directory = stateDir();
  const path = join(directory, 'web-socket', 'socket');
  mkdirSync(join(dirname(path), 'logins', 'left'), { recursive: true });
  writeFileSync(path, 'stale');

  const socket = await listening(directory);

  expect(await call(socket, '/x')).toMatchObject({ isOwn: true });
  expect(readdirSync(join(dirname(path), 'logins'))).toEqual([]);
  await socket.close();
  expect(readdirSync(dirname(path))).toEqual(['logins']);
});

it('leaves the socket of another launcher alone, and names it', async () => {
  const directory = stateDir();
  const first = await listening(directory);

  const second = socketIn(directory).listen(() => {});

  await expect(second).rejects.toMatchObject({
    code: 'NODEPOOL_LOCAL_SOCKET',
    message: expect.stringContaining('another launcher serves it: give each its own --state-dir') as string,
  });
  expect(existsSync(first.path)).toBe(true);
});

it('does not remove the socket of a successor', async () => {
  const directory = stateDir();
  const first = await listening(directory);
  rmSync(first.path);
  const successor = createServer().listen(first.path);
  onTestFinished(() => void successor.close());
  await new Promise((resolve) => successor.once('listening', resolve));

  await first.close();

  expect(existsSync(first.path)).toBe(true);
});

it('says that a path is too long for a socket', async () => {
  const directory = join(stateDir(), 'x'.repeat(100));

  await expect(socketIn(directory).listen(() => {})).rejects.toThrow(
    /web-socket\/socket in .* cannot be used: the path is \d+ bytes too long: choose a shorter --state-dir/,
  );
});
