import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger, type LogFields } from '@nodepool/core';
import type { WebhookConfig } from '@nodepool/core/config';
import type { ApiEvent } from './events.js';
import { Webhooks } from './webhooks.js';

interface Received {
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

let server: Server;
let received: Received[];
let statuses: number[];
let hooks: WebhookConfig[];
let webhooks: Webhooks;
let warnings: (LogFields | undefined)[];
let pauses: number[];

/** Timers of retries fire at once; those that bound an attempt never do. */
const clock = {
  now: () => 1_000,
  setTimer(ms: number, fn: () => void) {
    if (ms === 10_000) return () => {};
    pauses.push(ms);
    setImmediate(fn);
    return () => {};
  },
};

beforeEach(async () => {
  [received, statuses, warnings, pauses] = [[], [], [], []];
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      received.push({ authorization: request.headers.authorization, body: JSON.parse(text) as Received['body'] });
      response.writeHead(statuses.shift() ?? 204, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  hooks = [{ name: 'chat', url, events: ['request-failed'], secret: 'a-long-enough-secret' }];
  const logger = { ...silentLogger, warn: (_message: string, fields?: LogFields) => void warnings.push(fields) };
  webhooks = new Webhooks({ clock, logger, hostname: 'nl01', webhooks: () => hooks });
});

afterEach(async () => {
  webhooks.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const failed = (id: string): ApiEvent => ({
  ...{ type: 'request', id, notice: 'request-failed' },
  data: () => ({ id, state: 'failed' }),
});
const arrived = (count: number) => expect.poll(() => received.length).toBe(count);

it('tells what was chosen, with the secret, in order', async () => {
  webhooks.notify({ type: 'request', id: '1', data: () => ({}), notice: 'request-fulfilled' });
  webhooks.notify({ type: 'request', id: '2', data: () => ({}) });
  for (const id of ['3', '4', '5']) webhooks.notify(failed(id));
  await arrived(3);

  expect(received[0]).toEqual({
    authorization: 'Bearer a-long-enough-secret',
    body: { event: 'request-failed', time: 1, hostname: 'nl01', id: '3', request: { id: '3', state: 'failed' } },
  });
  expect(received.map(({ body }) => body['id'])).toEqual(['3', '4', '5']);
});

it('tries again with growing pauses while the address is not well', async () => {
  statuses = [500, 503, 429];
  webhooks.notify(failed('1'));
  await arrived(4);

  expect(pauses).toEqual([1_000, 2_000, 4_000]);
  expect(warnings).toEqual([]);
});

it('gives up after five attempts, says so, and continues with the next event', async () => {
  statuses = [500, 500, 500, 500, 500];
  webhooks.notify(failed('1'));
  webhooks.notify(failed('2'));
  await arrived(6);

  expect(warnings).toEqual([{ webhook: 'chat', attempt: 5, reason: 'answer 500' }]);
  expect(received.at(-1)?.body['id']).toBe('2');
});

it.each([400, 404, 307])('does not repeat what was answered with %i, nor follow it elsewhere', async (status) => {
  statuses = [status];
  webhooks.notify(failed('1'));
  webhooks.notify(failed('2'));
  await arrived(2);

  expect(received.map(({ body }) => body['id'])).toEqual(['1', '2']);
  expect(warnings).toEqual([{ webhook: 'chat', attempt: 1, reason: `answer ${status}` }]);
});

it('limits the events waiting for a slow address', async () => {
  for (let n = 0; n < 1_500; n++) webhooks.notify(failed(String(n)));

  expect(warnings.length).toBeGreaterThan(400);
  hooks = [];
  await arrived(1);
});
