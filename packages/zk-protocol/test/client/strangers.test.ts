import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createZooKeeper } from '../../src/index.js';
import { closing, eventually, onTestEnd } from '../support/clients.js';

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

/** What the client says of the last attempt on a server. */
async function failureOn(server: Server, sessionTimeoutMs = 2_000): Promise<string> {
  const port = await portOf(server);
  const client = closing(createZooKeeper({ servers: `127.0.0.1:${port}`, sessionTimeoutMs }));
  await eventually(() => expect(client.lastFailure).toBeDefined());
  return (client.lastFailure?.message ?? '').replace(`127.0.0.1:${port}: `, '');
}

describe('a server that is not ZooKeeper', () => {
  it.each<[string, () => Server, string]>([
    [
      'that greets',
      () => greeting('SSH-2.0-OpenSSH_9.2p1\r\n'),
      ', but with "SSH-2.0-OpenSSH_9.2p1": correct host or port',
    ],
    ['of the web', () => createHttpServer(), ', but with "HTTP/1.1 400 Bad Request": correct host or port'],
    ['that speaks in bytes', () => greeting([0x7f, 0xff, 0, 0, 1]), ': correct host or port'],
    ['whose greeting could be the begin of an answer', () => greeting([0, 0, 1, 0, 7, 7, 7]), ': correct host or port'],
    [
      'that wants TLS',
      () => greeting([0x15, 3, 1, 0, 2, 2, 70]),
      ': it wants TLS, set "zookeeper-tls" or use its port without TLS',
    ],
  ])('%s', async (_name, makeServer, rest) => {
    expect(await failureOn(makeServer())).toBe(`does not answer as ZooKeeper${rest}`);
  });

  it('that says nothing', async () => {
    expect(await failureOn(greeting(''))).toMatch(
      /^no answer within \d+ ms \(session request\): it does not answer as/,
    );
  });
});
