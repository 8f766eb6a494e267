import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedServerOptions, startEmbeddedServer } from '../../src/server/index.js';
import type { RunningServer } from '../../src/server/start.js';
import { SnapshotSource } from '../../src/server/storage/snapshot-source.js';
import { ErrorCode, OpCode } from '../../src/server/model/constants.js';
import type { JuteWriter } from '../../src/server/wire/jute-writer.js';
import { ManualClock } from '../support/manual-clock.js';
import { createRequest, ModelDriver } from './model-driver.js';
import { RawClient, type RawRequest } from './raw-client.js';
import { bare, create, exists } from './raw-requests.js';

interface Entry {
  scheme: string;
  id: string;
}

const MIB = 1024 * 1024;
const AUTH: Entry = { scheme: 'auth', id: '' };

function writeCreate(writer: JuteWriter, path: string, acl: readonly Entry[], flags = 0): void {
  writer.string(path);
  writer.bytes(Buffer.alloc(0));
  writer.int(acl.length);
  for (const [index, { scheme, id }] of acl.entries()) {
    writer.int(1 + (index % 31));
    writer.string(scheme);
    writer.string(id);
  }
  writer.int(flags);
}

function createWithAcl(path: string, acl: readonly Entry[]): RawRequest {
  return { type: OpCode.create2, text: `create ${path}`, encode: (writer) => writeCreate(writer, path, acl) };
}

function many(
  type: number,
  count: number,
  partType: number,
  encode: (writer: JuteWriter, index: number) => void,
): RawRequest {
  return {
    type,
    text: `${count} operations`,
    encode: (writer) => {
      for (let index = 0; index < count; index++) {
        writer.int(partType);
        writer.bool(false);
        writer.int(-1);
        encode(writer, index);
      }
      writer.int(-1);
      writer.bool(true);
      writer.int(-1);
    },
  };
}

function multiRead(count: number, path: string): RawRequest {
  return many(OpCode.multiRead, count, OpCode.getData, (writer) => {
    writer.string(path);
    writer.bool(false);
  });
}

describe('one client', () => {
  let dataDir: string;
  let server: RunningServer;
  const clients: RawClient[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-bounds-'));
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.drop();
    await server.close();
    await rm(dataDir, { recursive: true });
  });

  async function start(options: Partial<EmbeddedServerOptions> = {}): Promise<void> {
    server = (await startEmbeddedServer({ dataDir, ...options })) as RunningServer;
  }

  async function open(): Promise<RawClient> {
    const client = await RawClient.open(server.port, { timeoutMs: 30_000 });
    clients.push(client);
    return client;
  }

  /**
   * How long the server computes, ms, until another client has its answer while the requests are worked on: what others on
   * this machine compute does not count.
   */
  async function disturbance(client: RawClient, ...requests: RawRequest[]): Promise<number> {
    const other = await open();
    const replies = client.call(...requests);
    let longestMs = 0;
    for (let round = 0; round < 20; round++) {
      const before = process.cpuUsage();
      await other.call(exists('/'));
      const { user, system } = process.cpuUsage(before);
      longestMs = Math.max(longestMs, (user + system) / 1000);
    }
    await replies;
    return longestMs;
  }

  it('cannot ask for more in one reply than the server can hold', async () => {
    await start();
    const client = await open();
    await client.call(create('/big', 0, 1_000_000));
    client.takeMessages();

    const waitedMs = await disturbance(client, multiRead(5000, '/big'), multiRead(30, '/big'));

    expect(client.takeMessages().map(({ error }) => error)).toEqual([ErrorCode.marshalling, 0]);
    expect(waitedMs).toBeLessThan(1000);
  });

  it('cannot keep others waiting with many dear requests in one packet', async () => {
    await start();
    const client = await open();
    await client.call(...Array.from({ length: 5000 }, (_, index) => create(`/${index}`)));
    client.takeMessages();
    const count: RawRequest = {
      type: OpCode.getAllChildrenNumber,
      text: 'count',
      encode: (w) => w.string('/zookeeper'),
    };

    const waitedMs = await disturbance(client, ...Array.from({ length: 5000 }, () => count));

    expect(client.takeMessages()).toHaveLength(5000);
    expect(waitedMs).toBeLessThan(500);
  });

  it('cannot store an ACL that takes long to check', async () => {
    await start();
    const client = await open();
    const ids = Array.from({ length: 30_000 }, (_, index) => ({
      scheme: 'ip',
      id: `10.0.${index >> 8}.${index & 255}`,
    }));

    const waitedMs = await disturbance(client, createWithAcl('/a', ids), createWithAcl('/b', ids.slice(0, 100)));

    expect(client.takeMessages().map(({ error }) => error)).toEqual([ErrorCode.invalidAcl, 0]);
    expect(waitedMs).toBeLessThan(1000);
  });

  it('cannot prove more identities than an ACL may hold, and what it stored can be read again', async () => {
    await start();
    const client = await open();
    for (let index = 0; index < 15; index++) await client.addAuth('digest', `user${index}:${'p'.repeat(100)}`);
    const multi = (from: number) =>
      many(OpCode.multi, 6000, OpCode.create, (writer, index) => {
        writeCreate(
          writer,
          `/${from + index}`,
          Array.from({ length: 6 }, () => AUTH),
        );
      });
    await client.call(
      multi(0),
      createWithAcl(
        '/seven',
        Array.from({ length: 7 }, () => AUTH),
      ),
    );
    const replies = client.takeMessages().slice(-2);
    await client.addAuth('digest', 'one:more');
    await client.until(() => client.isClosed);
    const { lastZxid, tree } = server.model;
    const { size } = tree;

    await server.close();
    await start();

    expect(replies.at(-1)).toMatchObject({ error: ErrorCode.invalidAcl });
    expect(JSON.stringify(replies[0]?.body)).toContain(String(ErrorCode.marshalling));
    expect(client.takeMessages()).toMatchObject([{ error: ErrorCode.authFailed }]);
    expect(server.model).toMatchObject({ lastZxid });
    expect(server.model.tree.size).toBe(size);
  });

  it('cannot own more ephemerals than the end of its session can be written with', async () => {
    await start();
    const client = await open();
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}-${'x'.repeat(900_000)}`);

    for (const path of paths) await client.call(create(path, 1));
    const errors = client.takeMessages().map(({ error }) => error);
    await client.call(bare(OpCode.closeSession));
    await server.close();
    await start();

    expect(errors.filter((error) => error === 0)).toHaveLength(18);
    expect(errors.slice(18)).toEqual([ErrorCode.quotaExceeded, ErrorCode.quotaExceeded]);
    expect(server.model.tree.ephemeralCount).toBe(0);
    expect(server.model.sessions.size).toBe(0);
  });

  it('is cut off alone when the server fails over it', async () => {
    const lines: unknown[] = [];
    const log = () => undefined;
    await start({ logger: { debug: log, info: log, warn: log, error: (...line) => lines.push(line) } });
    const [client, other] = [await open(), await open()];
    const { model } = server;
    const apply = model.apply.bind(model);
    model.apply = (connection, request, at) => {
      if (request.op === 'sync') throw new RangeError('Invalid array length');
      return apply(connection, request, at);
    };

    client.send({ type: OpCode.sync, text: 'sync', encode: (writer) => writer.string('/') });
    await client.until(() => client.isClosed);
    await other.call(exists('/'));

    expect(other.takeMessages()).toMatchObject([{ error: 0 }]);
    expect(lines).toMatchObject([[expect.stringContaining('cut off'), { error: { name: 'RangeError' } }]]);
  });

  it('keeps no place by not hanging up', async () => {
    const clock = new ManualClock();
    await start({ clock, maxClientConnections: 3, maxConnectionsPerAddress: 3 });
    const sockets = ['ruok', 'nope', 'srvr'].map((word) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.write(word);
      socket.on('error', () => undefined);
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    const tooEarly = await open();

    clock.advance(5000);
    const inTime = await open();
    for (const socket of sockets) socket.destroy();

    expect(tooEarly.isClosed).toBe(true);
    expect(inTime.isClosed).toBe(false);
  });

  it('cannot take all places from its address, and those who have not logged in make room', async () => {
    await start({ maxClientConnections: 10, login: 'nodepool:secret' });
    const members = [await open(), await open()];
    for (const member of members) await member.addAuth('digest', 'nodepool:secret');
    const strangers: RawClient[] = [];
    for (let index = 0; index < 6; index++) strangers.push(await open());

    const next = await open();
    await strangers[0]?.until(() => strangers[0]?.isClosed === true);
    await next.addAuth('digest', 'nodepool:secret');
    await next.call(exists('/'));

    expect(next.takeMessages().at(-1)).toMatchObject({ error: 0 });
    expect(members.some(({ isClosed }) => isClosed)).toBe(false);
    expect(strangers.filter(({ isClosed }) => isClosed)).toHaveLength(1);
  });

  it('and others that read nothing cannot make the server hold more than it has room for', async () => {
    await start({ fsync: false });
    const sleepers = await Promise.all(Array.from({ length: 12 }, () => open()));
    for (const sleeper of sleepers) {
      await sleeper.call({
        type: OpCode.addWatch,
        text: 'watch /',
        encode: (writer) => {
          writer.string('/');
          writer.int(1);
        },
      });
      sleeper.pause();
    }
    const writer = await open();
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;

    for (let index = 0; index < 25; index++) {
      await writer.call(create(`/${index}${'x'.repeat(1_000_000)}`));
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }

    // Without a limit these are 12 times 25 MB.
    expect(most).toBeLessThan(230 * MIB);
    expect(writer.isClosed).toBe(false);
  });
});

describe('a snapshot', () => {
  it('has no part that is too large to be read, whatever changes while it is written', () => {
    const driver = new ModelDriver();
    const client = driver.connect(60_000);
    const paths = Array.from({ length: 40 }, (_, index) => `/${index}`);
    for (const path of paths) driver.apply(client, createRequest(path, 0, 'x'.repeat(1_000_000)));
    const source = new SnapshotSource(driver.model);
    const parts = [source.next(1000), source.next(1000), source.next(1000)];

    driver.apply(client, { op: 'multi', parts: paths.map((path) => ({ op: 'delete', path, version: -1 })) });
    for (let part = source.next(1000); part !== undefined; part = source.next(1000)) parts.push(part);

    const sizes = parts.map((part) => part?.length ?? 0);
    expect(Math.max(...sizes)).toBeLessThan(10 * MIB);
    expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(40_000_000);
  });
});
