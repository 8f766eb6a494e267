import { chmodSync, lstatSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedServerOptions, startEmbeddedServer } from '../src/server/index.js';
import { connect, createZooKeeper } from '../src/index.js';
import { RawClient } from './server/raw-client.js';
import { exists } from './server/raw-requests.js';
import { closing, eventually, onTestEnd, reaches } from './support/clients.js';

describe('an embedded server on a Unix socket', () => {
  let dir: string;
  let path: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-socket-'));
    onTestEnd(() => rm(dir, { recursive: true }));
    path = join(dir, 'run', 'socket');
  });

  async function start(options: Partial<EmbeddedServerOptions> = {}) {
    const socket = { path, mode: 0o600 };
    const server = await startEmbeddedServer({ dataDir: join(dir, 'data'), socket, ...options });
    onTestEnd(() => server.close());
    return server;
  }

  const modes = () => [dirname(path), path].map((each) => (lstatSync(each).mode & 0o777).toString(8));

  /** Listens at the path instead of the server, and hears what clients say. */
  async function impersonate(): Promise<Buffer[]> {
    const heard: Buffer[] = [];
    const impostor = createServer((socket) => socket.on('data', (chunk) => heard.push(chunk)));
    impostor.listen(path);
    await once(impostor, 'listening');
    onTestEnd(() => impostor.close());
    return heard;
  }

  it('serves clients that may open it, on no TCP port', async () => {
    const server = await start({ login: 'nodepool:secret' });
    const client = closing(await connect({ servers: server.connectString }));

    await client.create('/kept', 'x');

    expect(server).toMatchObject({ connectString: `unix:${path}`, port: 0 });
    expect(await client.getChildren('/')).toContain('kept');
  });

  it('demands the login on a TCP port beside it', async () => {
    const server = await start({ login: 'nodepool:secret', port: 0 });
    const stranger = await RawClient.open(server.port, { timeoutMs: 10_000 });
    onTestEnd(() => stranger.drop());

    await stranger.call(exists('/'));

    expect(stranger.takeMessages()).toMatchObject([{ error: -102 }]);
  });

  it.each([
    [0o600, ['700', '600']],
    [0o660, ['750', '660']],
    [0o666, ['755', '666']],
  ])('has the permissions %o, whatever the umask and the directory', async (mode, expected) => {
    mkdirSync(dirname(path), { mode: 0o755 });
    const usual = process.umask(0o077);
    onTestEnd(() => process.umask(usual));

    await start({ socket: { path, mode } });

    expect(modes()).toEqual(expected);
  });

  it('comes back after the server was killed, and its clients with it', async () => {
    const first = await start();
    const client = closing(await connect({ servers: first.connectString, sessionTimeoutMs: 20_000 }));
    const { sessionId } = client;
    const left = join(dir, 'left');
    renameSync(path, left); // a server that is killed does not remove it
    await first.close();
    renameSync(left, path);
    await reaches(client, 'SUSPENDED');

    await start();
    await reaches(client, 'CONNECTED');

    expect(client.sessionId).toBe(sessionId);
  });

  it('does not remove the socket of a server that has taken its place', async () => {
    const server = await start();
    renameSync(path, `${path}.old`);
    await impersonate();

    await server.close();

    expect(lstatSync(path).isSocket()).toBe(true);
  });

  it.each([
    ['its group may write to its directory', () => chmodSync(dirname(path), 0o770), 'other users may write'],
    ['its directory is a link', () => exchange(dirname(path)), 'is not a directory'],
  ])('is not used when %s', async (_, spoil, reason) => {
    mkdirSync(dirname(path), { mode: 0o700 });
    const heard = await impersonate();
    spoil();

    const client = closing(createZooKeeper({ servers: [{ host: path, port: 0 }] }));
    await eventually(() => expect(client.lastFailure?.message).toContain(reason));

    expect(heard).toEqual([]);
  });

  it('says how long its path may be', async () => {
    const long = join(dir, 'x'.repeat(100), 'socket');

    await expect(start({ socket: { path: long, mode: 0o600 } })).rejects.toMatchObject({
      code: 'ZK_EMBEDDED_LISTEN',
      message: expect.stringMatching(/is \d+ bytes too long. Choose a shorter directory/) as string,
    });
  });

  function exchange(directory: string): void {
    renameSync(directory, `${directory}-moved`);
    symlinkSync(`${directory}-moved`, directory);
  }
});
