import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { fetchService } from './fetch-service.js';

const servers: Server[] = [];
const signal = new AbortController().signal;

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

it('reads an answer with its status and headers', async () => {
  const url = await serve((request, response) => {
    response.writeHead(404, { 'X-Kind': String(request.headers.accept) }).end('{"a":1}');
  });

  const answer = await fetchService(url, { signal, headers: { accept: 'application/json' } });

  expect([answer.status, answer.ok, answer.headers.get('x-kind'), await answer.json()]).toEqual([
    404,
    false,
    'application/json',
    { a: 1 },
  ]);
});

it('follows no redirect', async () => {
  let isAsked = false;
  const other = await serve((_request, response) => {
    isAsked = true;
    response.end();
  });
  const url = await serve((_request, response) => void response.writeHead(302, { Location: other.href }).end());

  await expect(fetchService(url, { signal })).rejects.toThrow('redirect (status 302), which is not followed');
  expect(isAsked).toBe(false);
});

it('reads no more than it may, however much is sent', async () => {
  const url = await serve((_request, response) => {
    const send = () => {
      while (!response.destroyed && response.write('x'.repeat(1_000)));
    };
    response.on('drain', send);
    send();
  });

  await expect(fetchService(url, { signal, mostBytes: 100_000 })).rejects.toThrow('larger than 100000 bytes');
});

it('ends when its time is over, also in the middle of an answer', async () => {
  const url = await serve((_request, response) => void response.writeHead(200).write('{'));

  await expect(fetchService(url, { signal: AbortSignal.timeout(50) })).rejects.toThrow();
});

it.each(['data:application/json,{}', 'file:///etc/passwd', 'ftp://127.0.0.1/'])(
  'speaks HTTP only, not %s',
  async (url) => {
    await expect(fetchService(new URL(url), { signal })).rejects.toThrow('not with http: or https:');
  },
);
