import { expect, it } from 'vitest';
import { changesTo, closing, eventually, recordingLogger, recordStates, stopping } from '../../test/support/clients.js';
import { jute, ScriptedServer } from '../../test/support/scripted-server.js';
import { World } from '../../test/support/world.js';
import { connect, startClient } from './connect.js';
import type { WatchEvent } from './contract/types.js';

const world = new World({ tickMs: 200, minSessionTimeoutMs: 600 });

it.each([1, 2, 3, 4, 5, 20, 40, 41, 42, 44, 60])(
  'ignores a reply that was cut off at byte %i after a reconnect',
  async (bytes) => {
    const { proxy, client } = await world.proxied(4000);
    await client.create('/cut', 'body');
    const epoch = client.sessionEpoch;
    proxy.cutNextAfter(bytes);
    proxy.cut();

    await eventually(async () => expect((await client.getData('/cut')).data.toString()).toBe('body'));

    expect(client.sessionEpoch).toBe(epoch);
  },
);

it('sets eleven thousand watches again after a reconnect', async () => {
  const { proxy, client } = await world.proxied(10_000);
  const events: WatchEvent[] = [];
  const name = (i: number) => `/${'a-rather-long-name-'.repeat(5)}${i}`;
  const count = 11_000;
  for (let start = 0; start < count; start += 1000) {
    const batch = Array.from({ length: 1000 }, (_, i) => name(start + i));
    await Promise.all(batch.map((path) => client.exists(path, (event) => events.push(event))));
  }
  const epoch = client.sessionEpoch;

  const reconnected = changesTo(client, 'CONNECTED');
  proxy.cut();
  await reconnected;
  await client.create(name(0));
  await client.create(name(count - 1));

  expect(events).toEqual([
    { type: 'created', path: name(0) },
    { type: 'created', path: name(count - 1) },
  ]);
  expect(client.sessionEpoch).toBe(epoch);
});

it('sends credentials and watches once and first on each connection', async () => {
  const server = await stopping(
    ScriptedServer.start(4000, ({ xid, opCode, connection }) => {
      if (xid === -4 || xid === -8 || opCode === 106) connection.reply(xid);
    }),
  );
  const auth = [{ scheme: 'digest', auth: 'user:secret' }];
  const client = closing(await connect({ servers: server.connectString, auth }));
  await client.addWatch('/tree', 'persistent-recursive', () => {});

  for (let round = 0; round < 3; round += 1) {
    const before = server.connections.length;
    const waiting = client.exists('/waiting').catch(() => undefined);
    const states = recordStates(client);
    server.connections.at(-1)?.socket.destroy();
    await eventually(() => expect(states).toContain('SUSPENDED'));
    const next = client.exists('/next').catch(() => undefined);
    await eventually(() => expect(server.connections.length).toBeGreaterThan(before));
    const latest = () => server.requests.filter(({ connection }) => connection === server.connections.at(-1));
    await eventually(() => expect(latest().map(({ opCode }) => opCode)).toEqual([100, 105, 3]));
    void Promise.all([waiting, next]);
  }
});

it('wraps request numbers before they exceed 31 bits', async () => {
  const options = { servers: world.server.connectString, sessionTimeoutMs: 4000 };
  const client = closing(startClient(options, 0x7fff_ffff - 5));

  const answers = await Promise.all(Array.from({ length: 20 }, () => client.exists('/')));

  expect(answers.every((stat) => stat !== undefined)).toBe(true);
});

it('continues after a listener threw', async () => {
  const server = await stopping(
    ScriptedServer.start(4000, ({ xid, connection }) => {
      connection.inOneChunk(() => {
        connection.event(3, '/x');
        connection.reply(xid);
      });
    }),
  );
  const { lines, logger } = recordingLogger();
  const client = closing(await connect({ servers: server.connectString, logger }));
  const seen: WatchEvent[] = [];
  const adding = client.addWatch('/x', 'persistent', () => {
    throw new Error('listener broke');
  });
  await client.addWatch('/x', 'persistent', (event) => seen.push(event));
  await adding;

  await client.sync('/x');

  expect(seen.length).toBeGreaterThan(0);
  expect(lines).toContain('error ZooKeeper watch listener failed: listener broke');
});

it('passes an event to the watch that a reply in the same chunk confirmed', async () => {
  const stat = Buffer.alloc(68);
  const server = await stopping(
    ScriptedServer.start(4000, ({ xid, connection }) => {
      connection.inOneChunk(() => {
        connection.reply(xid, 0, Buffer.concat([jute('body'), stat]));
        connection.event(3, '/x');
      });
    }),
  );
  const client = closing(await connect({ servers: server.connectString }));
  const seen: WatchEvent[] = [];

  const { data } = await client.getData('/x', (event) => seen.push(event));

  expect(data.toString()).toBe('body');
  expect(seen).toEqual([{ type: 'changed', path: '/x' }]);
});

it('reads thousands of frames in one chunk without recursion', async () => {
  const server = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid)));
  const client = closing(await connect({ servers: server.connectString }));
  let seen = 0;
  await client.addWatch('/x', 'persistent', () => (seen += 1));
  const count = 50_000;

  const connection = server.connections[0];
  connection?.inOneChunk(() => {
    for (let i = 0; i < count; i += 1) connection.event(3, '/x');
  });

  await eventually(() => expect(seen).toBe(count));
});

it('counts requests, operations and unanswered requests', async () => {
  const client = await world.connected();
  const before = { ...client.counters };

  const both = Promise.all([
    client.exists('/'),
    client.multi([
      { op: 'check', path: '/' },
      { op: 'create', path: '/x' },
    ]),
  ]);
  const during = client.counters.pending;
  await both;

  expect(during).toBe(2);
  expect(client.counters).toMatchObject({
    requests: before.requests + 2,
    operations: before.operations + 3,
    writes: before.writes + 2,
    pending: 0,
  });
});

it('sends a call at once if nothing is in flight, and the calls of one turn in order in one write', async () => {
  const chunks: number[] = [];
  const asked: (() => void)[] = [];
  const answerAll = () => asked.splice(0).forEach((answer) => answer());
  const server = await stopping(
    ScriptedServer.start(4000, ({ xid, connection }) => {
      asked.push(() => connection.reply(xid));
      if (server.requests.length >= 4) answerAll();
    }),
  );
  const client = closing(await connect({ servers: server.connectString }));
  server.connections[0]?.socket.on('data', (chunk: Buffer) => chunks.push(chunk.length));

  const first = client.sync('/first');
  const sentAtOnce = client.counters.requests;
  await eventually(() => expect(chunks).toHaveLength(1));
  await Promise.all([client.sync('/a'), Promise.resolve().then(() => client.sync('/b')), client.sync('/c'), first]);

  expect(sentAtOnce).toBe(1);
  expect(chunks).toHaveLength(2);
  expect(server.requests.map(({ body }) => body.toString().slice(-1))).toEqual(['t', 'a', 'c', 'b']);
});
