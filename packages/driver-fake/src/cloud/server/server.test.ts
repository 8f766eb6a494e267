import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { idsOf, order, signal, useServers } from '../../../test/servers.js';
import { VirtualClock } from '../../../test/virtual-clock.js';
import { callsOf } from '../../driver/cloud-call.js';

const { startServer, startClient } = useServers();

describe('the server', () => {
  it('serves loopback TCP as well', async () => {
    const { dir, server } = await startServer(undefined, { address: { host: '127.0.0.1', port: 0 } });
    const { client } = await startClient(dir, `127.0.0.1:${server.port}`);

    expect((await client.call('create', order, signal)).status).toBe('active');
  });

  it('answers unknown calls and wrong settings with an error, and continues', async () => {
    const { dir } = await startServer();
    const { client } = await startClient(dir);

    await expect(client.request('nonsense', null)).rejects.toThrow('there is no call "nonsense"');
    await expect(
      client.call('configure', { owner: 'me', settings: { 'create-time': 'long' } }, signal),
    ).rejects.toThrow('expected seconds');

    expect(await idsOf(client)).toEqual([]);
  });

  it('says of each change when it was', async () => {
    const clock = new VirtualClock();
    const { dir } = await startServer(undefined, { clock });
    const { client } = await startClient(dir);
    const lines = new Promise<string>((resolve, reject) => {
      const events = request({ socketPath: join(dir, 'socket'), path: '/events', method: 'POST' }, (response) => {
        void client.call('create', order, signal).catch(reject);
        response.setEncoding('utf8').once('data', (text: string) => {
          resolve(text);
          events.destroy();
        });
      });
      events.once('error', reject).end('null');
    });

    expect(JSON.parse(await lines)).toMatchObject({ instance: { status: 'active' }, timeMs: clock.now() });
  });

  it('turns an instance off, and continues', async () => {
    const { dir } = await startServer();
    const { client } = await startClient(dir);
    const { id } = await client.call('create', order, signal);

    await client.call('powerOff', id, signal);

    expect(['stopping', 'stopped']).toContain((await client.call('get', id, signal))?.status);
  });

  it.each([
    ['is no JSON', '/create', {}, 'not json', 400],
    ['is too long', '/create', {}, 'x'.repeat(5 * 1024 * 1024), undefined],
    ['comes from a web page', '/list', { headers: { origin: 'http://example.org' } }, 'null', 400],
    ['is a link on a web page', '/stop', { method: 'GET' }, undefined, 400],
  ])('refuses a call that %s', async (_what, path, options, body, status) => {
    const { dir } = await startServer();
    const { client } = await startClient(dir);

    const answered = await new Promise((resolve) => {
      request({ socketPath: join(dir, 'socket'), path, method: 'POST', ...options }, (response) => {
        resolve(response.resume().statusCode);
      })
        .once('error', () => resolve(undefined))
        .end(body);
    });

    expect(answered).toBe(status);
    expect(await idsOf(client)).toEqual([]);
  });

  it('leaves its instances to the next server, and clients learn that they may have changed', async () => {
    const { dir, server } = await startServer();
    const { client, events, lost } = await startClient(dir);
    const kept = await client.call('create', order, signal);
    const killed = await client.call('create', order, signal);
    await vi.waitFor(() => expect(events).toHaveLength(2));

    await server.stop();
    const refused = await callsOf(client)('create', order, signal).catch((reason: unknown) => reason);
    await vi.waitFor(() => expect(lost).toHaveLength(1));
    const { server: next } = await startServer(dir, { clock: new VirtualClock(), random: () => 0.5 });
    next.cloud.kill(killed.id);
    await client.start(signal);

    expect(isNodepoolError(refused, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(true);
    expect(lost).toHaveLength(1);
    expect(await idsOf(client)).toEqual([kept.id]);
    expect(events.slice(2)).toEqual([kept, killed].map(({ id }) => ({ id, instance: undefined })));
  });

  it('ends when it has been idle for the timeout', async () => {
    const clock = new VirtualClock();
    const { dir, server } = await startServer(undefined, { clock, idleTimeoutMs: 60_000 });
    const { client } = await startClient(dir);
    await clock.advance(120_000);
    expect(await idsOf(client)).toEqual([]);

    client.close();
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1), 50_000);
    await clock.advance(60_000);

    await server.ended;
  });
});
