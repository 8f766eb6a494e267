import { appendFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isNodepoolError, systemClock } from '@nodepool/zk-protocol';
import { CloudServer, HttpClient, addressOf } from '../src/index.js';
import type { CloudChange, CloudClient, InstanceOrder } from '../src/index.js';
import { callsOf } from '../src/driver/cloud-call.js';
import { makeTempDir } from './temp-dir.js';
import { VirtualClock } from './virtual-clock.js';

const order: InstanceOrder = { name: 'np1', minRam: 2048, image: 'any', az: null, metadata: { nodepool_node_id: '1' } };
const signal = AbortSignal.timeout(60_000);
const closing: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function startServer(dir = makeTempDir(), listen?: string) {
  const server = await CloudServer.start({
    ...{ dir, address: addressOf(dir, listen), clock: systemClock, random: Math.random },
  });
  closing.push(() => server.stop());
  return { dir, server, cloud: server.cloud };
}

async function startClient(dir: string, listen?: string) {
  const lost: Error[] = [];
  const client = new HttpClient({
    address: addressOf(dir, listen),
    clock: systemClock,
    onLost: (error) => lost.push(error),
  });
  closing.push(() => client.close());
  const events: CloudChange[] = [];
  client.onChange((event) => events.push(event));
  await client.start(signal);
  return { client, events, lost };
}

const idsOf = async (client: CloudClient) => (await client.call('find', null, signal)).map(({ id }) => id);
const statesOf = (events: CloudChange[]) => events.map(({ instance }) => instance?.status ?? null);

describe('a client of the server', () => {
  it('has not lost its connection when it has closed it', async () => {
    const { dir } = await startServer();
    const { client, lost } = await startClient(dir);
    const other = await startClient(dir);

    client.close();
    await other.client.call('create', order, signal); // by then the server and this process have seen the end of the other

    expect(lost).toEqual([]);
  });

  it('creates, sees and deletes an instance', async () => {
    const { dir } = await startServer();
    const { client, events } = await startClient(dir);

    const made = await client.call('create', order, signal);
    const listed = await idsOf(client);
    const found = await client.call('find', { name: 'nodepool_node_id', value: '1' }, signal);
    const others = await client.call('find', { name: 'nodepool_node_id', value: '2' }, signal);
    const isGone = await client.call('remove', made.id, signal);

    expect(made.status).toBe('active');
    expect(listed).toEqual([made.id]);
    expect(found).toEqual([made]);
    expect(others).toEqual([]);
    expect(isGone).toBe(true);
    expect(await client.call('get', made.id, signal)).toBeNull();
    await vi.waitFor(() =>
      expect(events).toEqual([
        { id: made.id, instance: made },
        { id: made.id, instance: null },
      ]),
    );
  });

  it('hears what others do', async () => {
    const { dir, cloud } = await startServer();
    const [{ client }, other] = [await startClient(dir), await startClient(dir)];

    const { id } = await client.call('create', order, signal);
    cloud.kill(id);

    await vi.waitFor(() => expect(statesOf(other.events)).toEqual(['active', null]));
  });

  it('works over loopback TCP as well', async () => {
    const listen = '127.0.0.1:0';
    const dir = makeTempDir();
    const server = await CloudServer.start({
      ...{ dir, address: addressOf(dir, listen), clock: systemClock, random: Math.random },
    });
    closing.push(() => server.stop());
    const { client } = await startClient(dir, `127.0.0.1:${server.port}`);

    expect((await client.call('create', order, signal)).status).toBe('active');
  });

  it.each([
    ['quota', { failures: { quota: 1 } }, 'NODEPOOL_QUOTA'],
    ['capacity', { failures: { capacity: 1 } }, 'NODEPOOL_CAPACITY'],
    ['an API that is down', { failures: { 'api-down': 1 } }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['a rate limit', { failures: { 'rate-limited': 1 } }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['an order that can never work', { images: [] }, 'NODEPOOL_CONFIG'],
  ])('gets the error of core for %s', async (_what, settings, code) => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    await client.call('configure', { owner: 'me', settings }, signal);

    const error = await callsOf(client)('create', order, signal).catch((reason: unknown) => reason);

    expect(isNodepoolError(error, code)).toBe(true);
    expect([...cloud.list()]).toEqual([]);
  });

  it('loses the answer to a call that took effect', async () => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    cloud.set('failures.connection-reset', 1);

    const error = await callsOf(client)('create', order, signal).catch((reason: unknown) => reason);

    expect(isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(true);
    expect(await idsOf(client)).toHaveLength(1);
  });

  it('is told about unknown calls and wrong settings, and continues', async () => {
    const { dir } = await startServer();
    const { client } = await startClient(dir);

    await expect(client.request('nonsense', null)).rejects.toThrow('there is no call "nonsense"');
    await expect(
      client.call('configure', { owner: 'me', settings: { 'create-time': 'long' } }, signal),
    ).rejects.toThrow('expected seconds');

    expect(await idsOf(client)).toEqual([]);
  });

  it('waits no longer than its signal', async () => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    cloud.set('api-time', 3_600);
    const stop = new AbortController();

    const call = client.call('limits', null, stop.signal);
    stop.abort(new Error('enough'));

    await expect(call).rejects.toThrow('enough');
    cloud.set('api-time', 0);
    await expect(client.call('create', order, stop.signal)).rejects.toThrow('enough');
    expect(await idsOf(client)).toEqual([]);
  });

  it.each([
    ['is no JSON', '/create', {}, 'not json', 400],
    ['has no end', '/create', {}, 'x'.repeat(5 * 1024 * 1024), undefined],
    ['is made by a page of a browser', '/list', { headers: { origin: 'http://example.org' } }, 'null', 400],
    ['is an address on a page of a browser', '/stop', { method: 'GET' }, undefined, 400],
  ])('is refused a call that %s', async (_what, path, options, body, status) => {
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
});

describe('a server that ends', () => {
  it('leaves its instances to the next one, and clients know that they may have changed', async () => {
    const { dir, server } = await startServer();
    const { client, events, lost } = await startClient(dir);
    const kept = await client.call('create', order, signal);
    const killed = await client.call('create', order, signal);
    await vi.waitFor(() => expect(events).toHaveLength(2));

    await server.stop();
    const refused = await callsOf(client)('create', order, signal).catch((reason: unknown) => reason);
    await vi.waitFor(() => expect(lost).toHaveLength(1));
    const next = await CloudServer.start({
      ...{ dir, address: addressOf(dir), clock: new VirtualClock(), random: () => 0.5 },
    });
    closing.push(() => next.stop());
    next.cloud.kill(killed.id);
    await client.start(signal);

    expect(isNodepoolError(refused, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(true);
    expect(lost).toHaveLength(1);
    expect(await idsOf(client)).toEqual([kept.id]);
    expect(events.slice(2)).toEqual([kept, killed].map(({ id }) => ({ id, instance: undefined })));
  });

  it('does not mind a line its predecessor could not finish', async () => {
    const { dir, server, cloud } = await startServer();
    const { id } = cloud.create(order);
    await server.stop();
    appendFileSync(join(dir, 'cloud.journal'), '["i-');

    const next = await startServer(dir);

    expect([...next.cloud.list()].map((instance) => instance.id)).toEqual([id]);
  });

  it('ends by itself when it is not needed', async () => {
    const clock = new VirtualClock();
    const dir = makeTempDir();
    const server = await CloudServer.start({
      ...{ dir, address: addressOf(dir), clock, random: Math.random, idleTimeoutMs: 60_000 },
    });
    const { client } = await startClient(dir);
    await clock.advance(120_000);
    expect(await idsOf(client)).toEqual([]);

    client.close();
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1), 50_000);
    await clock.advance(60_000);

    await server.ended;
  });
});

describe('the journal', () => {
  it('does not grow with what is over', async () => {
    const { dir, server, cloud } = await startServer();
    const { id: kept } = cloud.create(order);
    const oneMib = 1024 * 1024;

    for (let times = 0; times < 30_000; times++) cloud.remove(cloud.create(order).id);
    await server.stop();

    const { size } = statSync(join(dir, 'cloud.journal'));
    expect(size).toBeLessThan(5 * oneMib);
    const next = await startServer(dir);
    expect([...next.cloud.list()].map(({ id }) => id)).toEqual([kept]);
  });

  it('is for its user only', async () => {
    const { dir } = await startServer();

    expect(statSync(join(dir, 'cloud.journal')).mode & 0o077).toBe(0);
  });
});
