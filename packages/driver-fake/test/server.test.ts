import { appendFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isNodepoolError, systemClock } from '@nodepool/zk-protocol';
import { CloudServer, addressOf, createCloudClient } from '../src/index.js';
import type { CloudClient, InstanceEvent, InstanceOrder } from '../src/index.js';
import { SocketTransport } from '../src/cloud/server/socket-transport.js';
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
  const transport = new SocketTransport({
    address: addressOf(dir, listen),
    clock: systemClock,
    onLost: (error) => lost.push(error),
  });
  const client = createCloudClient(transport);
  closing.push(() => client.close());
  await client.start(signal);
  const events: InstanceEvent[] = [];
  client.onChange((event) => events.push(event));
  return { client, events, lost, transport };
}

const idsOf = async (client: CloudClient) => Array.from(await client.list(signal), ({ id }) => id);

describe('a client of the server', () => {
  it('has not lost its connection when it has closed it', async () => {
    const { dir } = await startServer();
    const { client, lost } = await startClient(dir);
    const other = await startClient(dir);

    void client.close();
    await other.client.create(order, signal); // by then the server and this process have seen the end of the other

    expect(lost).toEqual([]);
  });

  it('creates, sees and deletes an instance', async () => {
    const { dir } = await startServer();
    const { client, events } = await startClient(dir);

    const made = await client.create(order, signal);
    const listed = await idsOf(client);
    const found = await client.find('nodepool_node_id', '1', signal);
    const isGone = await client.remove(made.id, signal);

    expect(made.status).toBe('active');
    expect(listed).toEqual([made.id]);
    expect(found).toEqual([made]);
    expect(isGone).toBe(true);
    expect(await client.get(made.id, signal)).toBeUndefined();
    expect(events).toEqual([
      { id: made.id, instance: made },
      { id: made.id, instance: null },
    ]);
  });

  it('hears what others do, before its own next answer', async () => {
    const { dir, cloud } = await startServer();
    const [{ client }, other] = [await startClient(dir), await startClient(dir)];

    const { id } = await client.create(order, signal);
    await other.client.limits(signal);
    cloud.kill(id);
    await other.client.limits(signal);

    expect(other.events.map(({ instance }) => instance?.status ?? null)).toEqual(['active', null]);
  });

  it('begins with what there is already', async () => {
    const { dir, cloud } = await startServer();
    const { id } = cloud.create(order);

    const { client } = await startClient(dir);

    expect(await idsOf(client)).toEqual([id]);
  });

  it('works over loopback TCP as well', async () => {
    const listen = '127.0.0.1:0';
    const dir = makeTempDir();
    const server = await CloudServer.start({
      ...{ dir, address: addressOf(dir, listen), clock: systemClock, random: Math.random },
    });
    closing.push(() => server.stop());
    const { client } = await startClient(dir, `127.0.0.1:${server.port}`);

    expect((await client.create(order, signal)).status).toBe('active');
  });

  it.each([
    ['quota', { failures: { quota: 1 } }, 'NODEPOOL_QUOTA'],
    ['capacity', { failures: { capacity: 1 } }, 'NODEPOOL_CAPACITY'],
    ['an API that is down', { failures: { 'api-down': 1 } }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['a rate limit', { failures: { 'rate-limited': 1 } }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['an order that can never work', { images: [] }, 'NODEPOOL_CONFIG'],
  ])('gets the error of core for %s', async (_what, settings, code) => {
    const { dir } = await startServer();
    const { client } = await startClient(dir);
    await client.configure('me', settings, signal);

    const error = await client.create(order, signal).catch((reason: unknown) => reason);

    expect(isNodepoolError(error, code)).toBe(true);
    expect(await idsOf(client)).toEqual([]);
  });

  it('loses the answer to a call that took effect', async () => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    cloud.set('failures.connection-reset', 1);

    const error = await client.create(order, signal).catch((reason: unknown) => reason);

    expect(isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(true);
    expect(await idsOf(client)).toHaveLength(1);
  });

  it('is told about unknown calls and wrong settings, and continues', async () => {
    const { dir } = await startServer();
    const { client, transport } = await startClient(dir);

    await expect(transport.request('nonsense', null)).rejects.toThrow('there is no call "nonsense"');
    await expect(client.configure('me', { 'create-time': 'long' }, signal)).rejects.toThrow('expected seconds');

    expect(await idsOf(client)).toEqual([]);
  });

  it('waits no longer than its signal', async () => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    cloud.set('api-time', 3_600);
    const stop = new AbortController();

    const call = client.limits(stop.signal);
    stop.abort(new Error('enough'));

    await expect(call).rejects.toThrow('enough');
  });

  it.each(['not json\n', '{"id":"text"}\n', 'x'.repeat(5 * 1024 * 1024)])(
    'is thrown out when it does not speak the protocol',
    async (nonsense) => {
      const { dir } = await startServer();
      const { client } = await startClient(dir);
      const socket = connect(join(dir, 'socket'));
      socket.on('error', () => {});

      socket.write(nonsense);
      await new Promise((resolve) => socket.once('close', resolve));

      expect(await idsOf(client)).toEqual([]);
    },
  );
});

describe('a server that ends', () => {
  it('leaves its instances to the next one, and clients notice what has changed', async () => {
    const { dir, server } = await startServer();
    const { client, events, lost } = await startClient(dir);
    const kept = await client.create(order, signal);
    const killed = await client.create(order, signal);

    await server.stop();
    const refused = await client.create(order, signal).catch((reason: unknown) => reason);
    const next = await CloudServer.start({
      ...{ dir, address: addressOf(dir), clock: new VirtualClock(), random: () => 0.5 },
    });
    closing.push(() => next.stop());
    next.cloud.kill(killed.id);
    await client.start(signal);

    expect(isNodepoolError(refused, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(true);
    expect(lost).toHaveLength(1);
    expect(await idsOf(client)).toEqual([kept.id]);
    expect(events.at(-1)).toEqual({ id: killed.id, instance: null });
  });

  it('does not mind a line its predecessor could not finish', async () => {
    const { dir, server, cloud } = await startServer();
    const { id } = cloud.create(order);
    await server.stop();
    appendFileSync(join(dir, 'cloud.ndjson'), '{"kind":"gone","id":"');

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

    await client.close();
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1), 50_000);
    await clock.advance(60_000);

    await server.ended;
  });
});

describe('the journal', () => {
  it('does not grow with what is over', async () => {
    const { dir, server, cloud } = await startServer();
    const { client } = await startClient(dir);
    await client.create(order, signal);

    for (let round = 0; round < 60; round++) {
      for (const { id } of Array.from({ length: 500 }, () => cloud.create(order))) cloud.remove(id);
      await client.limits(signal); // each round is written before the next begins
    }
    await server.stop();

    expect(statSync(join(dir, 'cloud.ndjson')).size).toBeLessThan(3 * 1024 * 1024);
    const next = await startServer(dir);
    expect(next.cloud.usage.instances).toBe(1);
  });

  it('is for its user only', async () => {
    const { dir } = await startServer();

    expect(statSync(join(dir, 'cloud.ndjson')).mode & 0o077).toBe(0);
  });
});
