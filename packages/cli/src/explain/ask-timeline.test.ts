import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@nodepool/zk-protocol';
import { expect, it, onTestFinished } from 'vitest';
import { askTimeline } from './ask-timeline.js';

async function failuresWhen(status: number, body: string): Promise<readonly string[]> {
  const server = createServer((_, response) => response.writeHead(status).end(body)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { failures } = await askTimeline([url], '0000000001', systemClock);
  return failures.map((failure) => failure.replace(url, 'URL'));
}

it.each([
  [200, '<html>', 'URL: its answer is no timeline: no launcher, or a newer one'],
  [200, '{}', 'URL: its answer is no timeline: no launcher, or a newer one'],
  [502, '<html>', 'URL: it answered with status 502'],
  [404, '<html>', 'URL: it keeps no history: an older launcher'],
])('says why there is no timeline: %i %s', async (status, body, failure) => {
  expect(await failuresWhen(status, body)).toEqual([failure]);
});
