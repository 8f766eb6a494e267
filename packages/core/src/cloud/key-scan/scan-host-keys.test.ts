import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import ssh2 from 'ssh2';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { checkPort, KeyScanError, scanHostKeys } from './index.js';
import type { KeyType } from './key-types.js';

const { Server: SshServer, utils } = ssh2;
const ED25519 = usableKeyPair();
const ECDSA = utils.generateKeyPairSync('ecdsa', { bits: 256 });
const RSA = utils.generateKeyPairSync('rsa', { bits: 2048 });

/** ssh2 makes some ed25519 pairs that it cannot read back itself. */
function usableKeyPair(): { private: string; public: string } {
  for (;;) {
    const pair = utils.generateKeyPairSync('ed25519');
    if (!(utils.parseKey(pair.private) instanceof Error) && !(utils.parseKey(pair.public) instanceof Error))
      return pair;
  }
}

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(server: Server, port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** An SSH server behind a plain one, so that tests can drop connections before it sees them. */
async function startSsh(
  keys: { private: string }[],
  options: { port?: number; accept?: (connection: number) => boolean } = {},
): Promise<{ port: number; connections: () => number; maxOpen: () => number }> {
  const ssh = new SshServer({ hostKeys: keys.map((key) => key.private) }, (client) => client.on('error', () => {}));
  let connections = 0;
  let open = 0;
  let maxOpen = 0;
  const server = createServer((socket) => {
    connections += 1;
    open += 1;
    maxOpen = Math.max(maxOpen, open);
    socket.on('close', () => (open -= 1));
    if (options.accept && !options.accept(connections)) socket.destroy();
    else ssh.injectSocket(socket);
  });
  const port = await listen(server, options.port);
  return { port, connections: () => connections, maxOpen: () => maxOpen };
}

const line = (key: { public: string }) => key.public.split(' ').slice(0, 2).join(' ');
const scan = (port: number, more: Partial<Parameters<typeof scanHostKeys>[0]> = {}) =>
  scanHostKeys({ host: '127.0.0.1', port, connectionType: 'ssh', timeoutMs: 10_000, ...more });

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('scanHostKeys', () => {
  it('returns every key of the server once, in the order of the key types', async () => {
    const server = await startSsh([RSA, ECDSA, ED25519]);

    const keys = await scan(server.port);

    expect(keys).toEqual([line(ED25519), line(ECDSA), line(RSA)]);
  });

  it('makes no more connections than the server has keys', async () => {
    const server = await startSsh([RSA, ECDSA, ED25519]);

    await scan(server.port);

    expect(server.connections()).toBe(3);
    expect(server.maxOpen()).toBeLessThanOrEqual(4);
  });

  it('finds the RSA key with whichever of its signature types is wanted', async () => {
    const server = await startSsh([RSA]);

    const found = await Promise.all(
      (['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'] satisfies KeyType[]).map((type) =>
        scan(server.port, { keyTypes: [type] }),
      ),
    );

    expect(found).toEqual([[line(RSA)], [line(RSA)], [line(RSA)]]);
  });

  it('scans network devices as it does SSH hosts', async () => {
    const server = await startSsh([ED25519]);

    await expect(scan(server.port, { connectionType: 'network_cli' })).resolves.toEqual([line(ED25519)]);
  });

  it('is content with an open port for other connection types', async () => {
    const port = await listen(createServer());

    await expect(scan(port, { connectionType: 'winrm' })).resolves.toEqual([]);
  });

  it('waits for a server that does not listen yet', async () => {
    const port = await freePort();

    const keys = scan(port);
    await startSsh([ED25519], { port });

    await expect(keys).resolves.toEqual([line(ED25519)]);
  });

  it('reads all keys of a server that drops every second connection', async () => {
    const server = await startSsh([RSA, ECDSA, ED25519], { accept: (connection) => connection % 2 === 0 });

    await expect(scan(server.port)).resolves.toEqual([line(ED25519), line(ECDSA), line(RSA)]);
  });

  it('names host, port, last failure and remedy when the port stays closed', async () => {
    const port = await freePort();

    const error = await scan(port, { timeoutMs: 250 }).catch((e: unknown) => e);

    expect(isNodepoolError(error, 'NODEPOOL_TIMEOUT')).toBe(true);
    expect(String(error)).toContain(`127.0.0.1 port ${port}: its SSH host keys could not be read within 250 ms`);
    expect(String(error)).toContain('ECONNREFUSED');
    expect(String(error)).toContain('check that the host is up');
  });

  it('gives up on a server that accepts and stays silent', async () => {
    const port = await listen(createServer());

    const error = await scan(port, { timeoutMs: 400, connectTimeoutMs: 100 }).catch((e: unknown) => e);

    expect(String(error)).toContain('no SSH handshake within 100 ms');
  });

  it('gives up on a server that speaks something else', async () => {
    const port = await listen(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));

    await expect(scan(port, { timeoutMs: 300 })).rejects.toThrow('the service on the port does not speak SSH');
  });

  it('lists the key types of a server without a common one', async () => {
    const server = await startSsh([RSA]);

    const error = await scan(server.port, { keyTypes: ['ssh-ed25519'] }).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(KeyScanError);
    expect(String(error)).toMatch(/host keys of the types .*rsa.* only, wanted is one of ssh-ed25519/);
  });

  it('fails at once for a name without address', async () => {
    const lookup = () => Promise.reject(new Error('getaddrinfo ENOTFOUND nowhere'));

    const error = await scan(22, { host: 'nowhere', lookup, timeoutMs: 60_000 }).catch((e: unknown) => e);

    expect(isNodepoolError(error, 'NODEPOOL_KEYSCAN')).toBe(true);
    expect(String(error)).toContain('nowhere port 22: the name has no address');
  });

  it('connects to the first address of the name', async () => {
    const server = await startSsh([ED25519]);
    const lookup = () => Promise.resolve({ address: '127.0.0.1', family: 4 as const });

    await expect(scan(server.port, { host: 'node01.example.com', lookup })).resolves.toEqual([line(ED25519)]);
  });

  it('connects to the next address of the name when the first one does not answer', async () => {
    const server = await startSsh([ED25519, ECDSA]);
    const lookup = () => Promise.resolve({ address: '::1', family: 6 as const, others: ['127.0.0.1'] });
    const host = 'node01.example.com';

    await expect(scan(server.port, { host, lookup })).resolves.toEqual([line(ED25519), line(ECDSA)]);
    await expect(checkPort({ host, port: server.port, timeoutMs: 5_000, lookup })).resolves.toBe(true);
  });

  it('ends at once with the reason when aborted', async () => {
    const port = await listen(createServer());
    const controller = new AbortController();
    const scanning = scan(port, { timeoutMs: 60_000, signal: controller.signal });
    const reason = new Error('stopping');

    controller.abort(reason);

    await expect(scanning).rejects.toBe(reason);
  });

  it('answers for fake hosts without network', async () => {
    await expect(scan(1, { host: 'fake-host-1' })).resolves.toEqual(['ssh-rsa FAKEKEY']);
    await expect(scan(1, { host: 'fake-host-1', connectionType: 'winrm' })).resolves.toEqual([]);
  });
});

describe('checkPort', () => {
  it('is true for an open port', async () => {
    const port = await listen(createServer());

    await expect(checkPort({ host: '127.0.0.1', port, timeoutMs: 5_000 })).resolves.toBe(true);
  });

  it('is false for a closed port and for a name without address', async () => {
    const port = await freePort();
    const lookup = () => Promise.reject(new Error('no such name'));

    await expect(checkPort({ host: '127.0.0.1', port, timeoutMs: 5_000 })).resolves.toBe(false);
    await expect(checkPort({ host: 'nowhere', port, timeoutMs: 5_000, lookup })).resolves.toBe(false);
  });

  it('is true for fake hosts', async () => {
    await expect(checkPort({ host: 'fake-1', port: 1, timeoutMs: 1 })).resolves.toBe(true);
  });

  it('rejects with the reason when aborted', async () => {
    const reason = new Error('stopping');

    await expect(
      checkPort({ host: '127.0.0.1', port: 1, timeoutMs: 5_000, signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});
