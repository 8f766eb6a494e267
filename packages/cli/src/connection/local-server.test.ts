import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { localSocket } from '@nodepool/core/config';
import { patientClock } from '@nodepool/zk-protocol';
import { expect, it, onTestFinished } from 'vitest';
import { globalOptions } from '../command/global-options.js';
import { findServerOrSocket } from './local-server.js';

const NOTHING = { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false };

/** A state directory with the socket of a launcher. */
async function stateDirWithSocket(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-state-'));
  const path = localSocket(directory);
  mkdirSync(dirname(path), { mode: 0o755 });
  const server = createServer((socket) => socket.destroy());
  onTestFinished(() => {
    server.close();
    rmSync(directory, { recursive: true });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return directory;
}

const find = (stateDir: string, { env = {}, ...options }: { env?: Record<string, string>; c?: string } = {}) => {
  const parsed = globalOptions({ _: [], format: 'table', 'state-dir': stateDir, ...options });
  return findServerOrSocket({ env, logger: silentLogger, clock: patientClock, options: parsed }, NOTHING);
};

it('is the socket of a launcher of this computer, if no other server and no ZooKeeper is named', async () => {
  const directory = await stateDirWithSocket();
  const url = `unix:${localSocket(directory)}`;

  expect(await find(directory)).toMatchObject({ url, token: undefined, options: ` --server ${url}` });
  expect(await find(directory, { c: 'nodepool.yaml' })).toBeUndefined();
  expect(await find(join(directory, 'other'))).toBeUndefined();
});

it('is not the socket in a directory where another user could have made it', async () => {
  const directory = await stateDirWithSocket();
  chmodSync(dirname(localSocket(directory)), 0o777);

  await expect(find(directory)).rejects.toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });
});
