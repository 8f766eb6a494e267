import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTransport, findLocalSocket, type ConnectionConfig, type Transport } from './transport.js';

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), 'incus-transport-'));
const open: { close(): unknown }[] = [];
const NOTHING = {
  ...{ clientCertificate: undefined, clientKey: undefined, serverCertificate: undefined, trustToken: undefined },
};

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
afterAll(() => rmSync(dir, { recursive: true }));

function connect(config: Partial<ConnectionConfig>): Transport {
  const transport = createTransport({ address: undefined, ...NOTHING, ...config });
  open.push(transport);
  return transport;
}

async function listen(server: Server, where: string | 0): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) =>
    server.listen(typeof where === 'number' ? { port: where, host: '127.0.0.1' } : { path: where }, resolve),
  );
  const address = server.address() as AddressInfo | string;
  return typeof address === 'string' ? 0 : address.port;
}

describe('over a Unix socket', () => {
  it('calls the daemon', async () => {
    const socket = join(dir, 'a.socket');
    const seen: string[] = [];
    await listen(
      createServer((request, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
        request.pipe(response.writeHead(202, { 'content-type': 'application/json' }));
      }),
      socket,
    );

    const answer = await connect({ address: `unix:${socket}` }).send({
      method: 'POST',
      path: '/1.0/a?b=c',
      body: '{}',
      signal,
    });

    expect(answer).toEqual({ status: 202, text: '{}' });
    expect(seen).toEqual(['POST /1.0/a?b=c application/json']);
  });

  it('reads the event stream until it ends', async () => {
    const socket = join(dir, 'b.socket');
    const server = createServer();
    server.on('upgrade', (request, stream) => {
      const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash('sha1').update(key).digest('base64');
      stream.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n');
      stream.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
      // two text frames without a mask, then the end of the connection
      stream.end(
        Buffer.concat([Buffer.from([0x81, 3]), Buffer.from('one'), Buffer.from([0x81, 3]), Buffer.from('two')]),
      );
    });
    await listen(server, socket);

    const messages: string[] = [];
    for await (const message of await connect({ address: `unix:${socket}` }).listen('/1.0/events', signal))
      messages.push(message);

    expect(messages).toEqual(['one', 'two']);
  });

  it('says that no daemon is running', async () => {
    const transport = connect({ address: `unix:${join(dir, 'none.socket')}` });

    const call = transport.send({ method: 'GET', path: '/1.0', signal });
    await expect(call).rejects.toThrow(
      /^GET \/1\.0: no daemon answers at unix:.*none\.socket: is Incus or LXD running\?/,
    );
    await expect(transport.listen('/1.0/events', signal)).rejects.toMatchObject({
      code: 'NODEPOOL_PROVIDER_UNAVAILABLE',
    });
  });

  it('says that a directory or file is not a socket', async () => {
    writeFileSync(join(dir, 'file'), '');
    for (const path of [dir, join(dir, 'file')]) {
      const call = connect({ address: `unix:${path}` }).send({ method: 'GET', path: '/1.0', signal });
      await expect(call).rejects.toThrow(/is not a socket: it is called unix\.socket/);
    }
  });

  it('finds the socket of a local daemon, or says where it looked', () => {
    writeFileSync(join(dir, 'found'), '');

    expect(findLocalSocket({}, ['/none', join(dir, 'found')])).toBe(join(dir, 'found'));
    expect(findLocalSocket({ INCUS_SOCKET: join(dir, 'found'), LXD_DIR: '/none' }, [])).toBe(join(dir, 'found'));
    expect(() => findLocalSocket({ LXD_DIR: '/none/a' }, ['/none/b'])).toThrow(
      /there is no socket at \/none\/a\/unix\.socket, \/none\/b$/,
    );
  });
});

describe('over HTTPS', () => {
  const path = (name: string) => join(dir, name);

  beforeAll(() => {
    for (const name of ['server', 'other', 'client']) {
      const subject = ['-subj', `/CN=${name}`, '-keyout', path(`${name}.key`), '-out', path(`${name}.crt`)];
      const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
      execFileSync('openssl', ['req', ...kind, ...subject], { stdio: 'ignore' });
    }
  });

  async function start(listener: RequestListener): Promise<string> {
    const files = { cert: readFileSync(path('server.crt')), key: readFileSync(path('server.key')) };
    const server = createTlsServer({ ...files, requestCert: true, rejectUnauthorized: false }, listener);
    return `https://127.0.0.1:${await listen(server, 0)}`;
  }

  const client = { clientCertificate: path('client.crt'), clientKey: path('client.key') };

  it('shows its certificate to the server whose certificate is pinned', async () => {
    const address = await start(({ socket }, response) =>
      response.end((socket as TLSSocket).getPeerCertificate().subject.CN),
    );

    const pinned = connect({ address, ...client, serverCertificate: path('server.crt') });

    expect((await pinned.send({ method: 'GET', path: '/1.0', signal })).text).toBe('client');
  });

  it('takes the pin from the trust token', async () => {
    const address = await start((_request, response) => response.end('hello'));
    const { raw } = new X509Certificate(readFileSync(path('server.crt')));
    const fingerprint = createHash('sha256').update(raw).digest('hex');
    const token = { client_name: 'ci', fingerprint, secret: 's' };

    const trusting = connect({ address, ...client, trustToken: Buffer.from(JSON.stringify(token)).toString('base64') });

    expect((await trusting.send({ method: 'GET', path: '/1.0', signal })).text).toBe('hello');
  });

  it('sends nothing to a server with another certificate', async () => {
    let calls = 0;
    const address = await start((_request, response) => {
      calls++;
      response.end();
    });

    const pinned = connect({ address, ...client, serverCertificate: path('other.crt') });
    const unpinned = connect({ address, ...client });

    const request = { method: 'GET', path: '/1.0', signal } as const;
    await expect(pinned.send(request)).rejects.toThrow(
      /has certificate [0-9a-f]{64}, expected [0-9a-f]{64}: correct server-certificate/,
    );
    await expect(unpinned.send(request)).rejects.toThrow(
      /the certificate of https\S+ is of no known authority: set trust-token or server-certificate/,
    );
    expect(calls).toBe(0);
  });

  it('names a file that it cannot read', async () => {
    const transport = connect({ address: 'https://127.0.0.1:1', ...client, clientKey: path('none.key') });

    await expect(transport.send({ method: 'GET', path: '/1.0', signal })).rejects.toThrow(/cannot read ".*none\.key"/);
  });
});
