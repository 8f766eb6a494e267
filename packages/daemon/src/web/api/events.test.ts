import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import { ApiError } from '../api-error.js';
import { EventStreams, MOST_STREAMS, type ApiEvent } from './events.js';

let server: Server;
let streams: EventStreams;
let computed = 0;

beforeEach(async () => {
  computed = 0;
  const overview = () => JSON.stringify({ n: ++computed });
  streams = new EventStreams({ clock: systemClock, logger: silentLogger, overview });
  server = createServer((request, response) => {
    const types = new URL(request.url ?? '/', 'http://localhost').searchParams.get('types') ?? undefined;
    try {
      streams.open(request, response, types, String(request.headers['x-address'] ?? '127.0.0.1'));
    } catch (error) {
      response.writeHead(error instanceof ApiError ? error.status : 500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  streams.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const nodeEvent = (size = 1): ApiEvent => ({ type: 'node', id: '1', data: () => ({ text: 'x'.repeat(size) }) });

function open(query = '', address = '127.0.0.1'): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo;
  const headers = { 'x-address': address };
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: `/${query}`, agent: false, headers }, resolve).on('error', reject);
  });
}

/** Everything that comes until the text is there. */
async function readUntil(stream: IncomingMessage, wanted: string): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    text += String(chunk);
    if (text.includes(wanted)) break;
  }
  return text;
}

it('sends a reader what it asked for, and nothing else', async () => {
  const stream = await open('?types=request');
  streams.publish(nodeEvent());
  streams.publish({ type: 'request', id: '7', data: () => null });

  const text = await readUntil(stream, '"id":"7"');

  expect(text).toContain('event: request\ndata: {"id":"7","request":null}\n\n');
  expect(text).not.toContain('event: node');
});

it('writes an event down once for all readers, and not at all for none', async () => {
  let written = 0;
  const event: ApiEvent = { type: 'node', id: '1', data: () => ({ n: ++written }) };
  streams.publish(event);
  const readers = await Promise.all([open(), open(), open()]);
  streams.publish(event);

  const texts = await Promise.all(readers.map((reader) => readUntil(reader, '"n":1')));

  expect(texts).toHaveLength(3);
  expect(written).toBe(1);
});

it('disconnects a slow reader, to limit memory', async () => {
  const slow = await open();
  const ended = new Promise((resolve) => slow.on('close', resolve).on('error', resolve));
  slow.pause();
  expect(streams.size).toBe(1);

  for (let n = 0; n < 1_000 && streams.size > 0; n++) streams.publish(nodeEvent(64 * 1024));

  expect(streams.size).toBe(0);
  slow.resume();
  await ended;
});

it('opens a bounded number of streams, and others once one has ended', async () => {
  const addresses = Array.from(
    { length: MOST_STREAMS.all },
    (_, i) => `192.0.2.${Math.floor(i / MOST_STREAMS.ofClient)}`,
  );
  const open1 = await Promise.all(addresses.map((address) => open('', address)));
  const refused = await open('', '192.0.2.99');
  open1[0]?.destroy();
  await expect.poll(() => streams.size).toBe(MOST_STREAMS.all - 1);
  const accepted = await open('', '192.0.2.99');

  expect([open1.at(-1)?.statusCode, refused.statusCode, accepted.statusCode]).toEqual([200, 503, 200]);
  for (const stream of [...open1, accepted]) stream.destroy();
});

it('opens a part of them for one client, which a network of IPv6 is, and says how it gets more', async () => {
  const own = await Promise.all(
    Array.from({ length: MOST_STREAMS.ofClient }, (_, i) => open('', `2001:db8:0:1::${i.toString(16)}`)),
  );
  const refused = await open('', '2001:db8:0:1:ffff::');
  const other = await open('', '2001:db8:0:2::1');

  expect([own.at(-1)?.statusCode, refused.statusCode, other.statusCode]).toEqual([200, 429, 200]);
  expect(await readUntil(refused, 'webapp')).toMatch(/2001:db8:0:1::\/64 has 50 open streams.*trusted-proxies/s);
  for (const stream of [...own, other]) stream.destroy();
});

it('tells proxies to pass events on as they come', async () => {
  const stream = await open();

  expect(stream.headers).toMatchObject({ 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' });
  stream.destroy();
});

it('computes one overview for many readers that come at once', async () => {
  const readers = await Promise.all(Array.from({ length: 20 }, () => open('?types=overview')));

  await Promise.all(readers.map((reader) => readUntil(reader, '"n":')));

  expect(computed).toBeLessThan(5);
});
