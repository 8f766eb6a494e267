import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedServerOptions, startEmbeddedServer } from './index.js';
import type { RunningServer } from './start.js';
import { ErrorCode, OpCode } from './model/constants.js';
import type { JuteWriter } from './wire/jute-writer.js';
import { RawClient, type RawRequest } from '../../test/server/raw-client.js';
import { bare, create, exists, getData, setData } from '../../test/server/raw-requests.js';

interface Entry {
  scheme: string;
  id: string;
}

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

  it('cannot request a reply beyond the size limit', async () => {
    await start();
    const client = await open();
    await client.call(create('/big', 0, 1_000_000));
    client.takeMessages();

    const waitedMs = await disturbance(client, multiRead(5000, '/big'), multiRead(30, '/big'));

    expect(client.takeMessages().map(({ error }) => error)).toEqual([ErrorCode.marshalling, 0]);
    expect(waitedMs).toBeLessThan(1000);
  });

  it('does not delay others with many expensive requests in one packet', async () => {
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

  it('cannot store an ACL beyond the limit', async () => {
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

  it('cannot prove more identities than an ACL may hold, and stored ACLs can be read again', async () => {
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

  it('cannot own more ephemerals than the record of its end may hold', async () => {
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

  it('is disconnected alone when the server fails on its request', async () => {
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
    expect(lines).toMatchObject([[expect.stringContaining('Disconnected client'), { error: { name: 'RangeError' } }]]);
  });

  it('is not read while it does not read its replies', async () => {
    await start();
    const client = await open();
    await client.call(create('/big', 0, 900_000));
    client.takeMessages();

    client.pause();
    client.send(...Array.from({ length: 200 }, () => getData('/big')));
    const other = await open();
    await other.call(exists('/big'));
    const held = process.memoryUsage().arrayBuffers;
    client.resume();
    await client.until(() => client.pendingReplies === 0);

    expect(held).toBeLessThan(100_000_000);
    expect(client.takeMessages()).toHaveLength(200);
  });

  it('waits while the disk is behind, without losing writes', async () => {
    await start();
    const [client, other] = [await open(), await open()];
    await client.call(create('/big'));
    client.takeMessages();

    await Promise.all([
      client.call(...Array.from({ length: 60 }, () => setData('/big', 900_000))),
      other.call(...Array.from({ length: 60 }, () => setData('/big', 900_000))),
    ]);

    const versions = [...client.takeMessages(), ...other.takeMessages()].map(({ error }) => error);
    expect(versions).toEqual(Array.from({ length: 120 }, () => 0));
    expect(server.model.tree.get('/big')?.version).toBe(120);
  });
});
