import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger, type Config } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import { WebGate } from '../gate.js';
import type { ApiEvent } from './events.js';
import { ServiceWeb } from './service-web.js';

const TOKEN = 'a-token-that-is-hard-to-guess';

let server: Server;
let pages: ServiceWeb;
let listeners: Set<(event: ApiEvent) => void>;

beforeEach(async () => {
  listeners = new Set();
  pages = new ServiceWeb({
    ...{ clock: systemClock, logger: silentLogger, name: 'nodepool-test', version: '1.2.3', hostname: 'nl01' },
    api: {
      ...{ operations: [], schemas: {}, overview: () => ({ nodes: 3 }) },
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    config: () => ({ apiTokens: [{ name: 'alice', token: TOKEN }] }) as unknown as Config,
    gate: new WebGate('nl01', () => ({ listenAddress: '127.0.0.1' })),
    health: () => ({ status: 'degraded' }),
  });
  server = createServer(pages.application).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterEach(async () => {
  pages.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const ask = (path: string, options?: RequestInit) =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1${path}`, options);

it('answers the overview with the identity and status of the service', async () => {
  const response = await ask('/overview');

  expect(await response.json()).toEqual({
    ...{ service: 'nodepool-test', version: '1.2.3', hostname: 'nl01', status: 'degraded', nodes: 3 },
  });
});

it('names the owner of a token', async () => {
  const response = await ask('/token', { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } });

  expect(await response.json()).toEqual({ name: 'alice' });
});

it('sends events to open streams, and ends them when it closes', async () => {
  const response = await ask('/events?types=node');
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  for (const emit of listeners) emit({ type: 'node', id: '7', data: () => ({ state: 'ready' }) });
  let text = '';
  while (!text.includes('data:')) text += (await reader.read()).value ?? expect.fail('the stream ended');
  pages.close();

  expect(text).toContain('data: {"id":"7","node":{"state":"ready"}}');
  await expect(reader.read()).rejects.toThrow();
  expect(listeners.size).toBe(0);
});
