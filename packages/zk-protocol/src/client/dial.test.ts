import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closing, eventually, onTestEnd } from '../../test/support/clients.js';
import { createZooKeeper } from './connect.js';

async function portOf(server: Server): Promise<number> {
  onTestEnd(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function greeting(bytes: string | number[]): Server {
  const open = new Set<Socket>();
  onTestEnd(() => open.forEach((socket) => socket.destroy()));
  return createServer((socket) => {
    open.add(socket.on('error', () => {}));
    socket.write(Buffer.from(bytes as number[]));
  });
}

/** Error of the last attempt to connect to a server, without its address. */
async function failureOn(server: Server, sessionTimeoutMs = 2_000): Promise<string> {
  const port = await portOf(server);
  const client = closing(createZooKeeper({ servers: `127.0.0.1:${port}`, sessionTimeoutMs }));
  await eventually(() => expect(client.lastFailure).toBeDefined());
  return (client.lastFailure?.message ?? '').replace(`127.0.0.1:${port}: `, '');
}

describe('an attempt to connect to a server that is not ZooKeeper', () => {
  it.each<[string, () => Server, string]>([
    [
      'names its greeting',
      () => greeting('SSH-2.0-OpenSSH_9.2p1\r\n'),
      ', but with "SSH-2.0-OpenSSH_9.2p1": correct host or port',
    ],
    ['names a web server', () => createHttpServer(), ', but with "HTTP/1.1 400 Bad Request": correct host or port'],
    ['rejects binary data', () => greeting([0x7f, 0xff, 0, 0, 1]), ': correct host or port'],
    [
      'rejects a greeting that could be the start of a reply',
      () => greeting([0, 0, 1, 0, 7, 7, 7]),
      ': correct host or port',
    ],
    [
      'names a TLS server',
      () => greeting([0x15, 3, 1, 0, 2, 2, 70]),
      ': it expects TLS; set "zookeeper-tls" or use its port without TLS',
    ],
  ])('%s', async (_name, makeServer, rest) => {
    expect(await failureOn(makeServer())).toBe(`does not answer as ZooKeeper${rest}`);
  });

  it('reports a silent server', async () => {
    expect(await failureOn(greeting(''))).toMatch(
      /^no reply within \d+ ms \(session request\): it is not ZooKeeper, or overloaded$/,
    );
  });
});

it('connects to an IPv6 address', async () => {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.listen(0, '::1');
  await once(server, 'listening');
  onTestEnd(() => server.close());
  const { port } = server.address() as { port: number };
  const dialled = once(server, 'connection');

  closing(createZooKeeper({ servers: `[::1]:${port}` }));

  const [socket] = (await dialled) as [Socket];
  socket.destroy();
});
