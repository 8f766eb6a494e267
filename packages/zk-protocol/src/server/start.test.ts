import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedServer, type EmbeddedServerOptions, startEmbeddedServer } from './index.js';
import type { RunningServer } from './start.js';
import { OpCode } from './model/constants.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { MemoryFileSystem } from '../../test/server/memory-file-system.js';
import { RawClient } from '../../test/server/raw-client.js';
import { bare, create, exists, getData, setData } from '../../test/server/raw-requests.js';

describe('startEmbeddedServer', () => {
  let dataDir: string;
  const running: EmbeddedServer[] = [];
  const clients: RawClient[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-embedded-'));
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.drop();
    await Promise.all(running.splice(0).map((server) => server.close()));
    await rm(dataDir, { recursive: true });
  });

  async function start(options: Partial<EmbeddedServerOptions> = {}): Promise<RunningServer> {
    const server = (await startEmbeddedServer({ dataDir, ...options })) as RunningServer;
    running.push(server);
    return server;
  }

  async function open(server: EmbeddedServer, options: Partial<Parameters<typeof RawClient.open>[1]> = {}) {
    const client = await RawClient.open(server.port, { timeoutMs: 10_000, ...options });
    clients.push(client);
    return client;
  }

  it('continues where it ended: data, sessions and ephemerals', async () => {
    const first = await start();
    const client = await open(first);
    await client.call(create('/kept', 0, 5), create('/mine', 1));
    await first.close();

    const second = await start();
    const again = await open(second, { session: client.session });
    await again.call(getData('/kept'), exists('/mine'));

    expect(again.session).toEqual(client.session);
    expect(again.takeMessages()).toMatchObject([
      { error: 0, body: { data: Buffer.alloc(5, 1).toString('base64') } },
      { error: 0, body: { stat: { ephemeralOwner: client.session.id } } },
    ]);
  });

  it('keeps a second server off its folder, and names the process that has it', async () => {
    await start();

    await expect(startEmbeddedServer({ dataDir })).rejects.toMatchObject({
      code: 'ZK_EMBEDDED_LOCKED',
      message: expect.stringContaining(String(process.pid)) as string,
    });
  });

  it('says what to do when the port is taken, and leaves the folder free', async () => {
    const other = await start();
    const mine = join(dataDir, 'mine');

    await expect(startEmbeddedServer({ dataDir: mine, port: other.port })).rejects.toMatchObject({
      code: 'ZK_EMBEDDED_LISTEN',
    });
    await start({ dataDir: mine });
  });

  it('refuses a client that has seen a later state than it has', async () => {
    const server = await start();

    const client = await open(server, { lastZxidSeen: 1000 });

    expect(client.isClosed).toBe(true);
    expect(client.session.id).toBe(0n);
  });

  it('ends the session of a client that has seen a later state, so that it begins another one at once', async () => {
    const server = await start();
    const { session } = await open(server);

    const client = await open(server, { session, lastZxidSeen: 1000 });
    await client.until(() => client.isClosed);

    expect(client.session).toMatchObject({ id: 0n, timeoutMs: 0 });
  });

  it('answers an unknown session and a wrong password with the empty session', async () => {
    const server = await start();
    const known = await open(server);

    const stranger = await open(server, { session: { id: 77n, timeoutMs: 1000, password: Buffer.alloc(16) } });
    const thief = await open(server, { session: { ...known.session, password: Buffer.alloc(16) } });
    await Promise.all([stranger, thief].map((client) => client.until(() => client.isClosed)));

    expect([stranger.session, thief.session]).toMatchObject([
      { id: 0n, timeoutMs: 0 },
      { id: 0n, timeoutMs: 0 },
    ]);
    await known.call(exists('/'));
    expect(known.takeMessages()).toMatchObject([{ error: 0 }]);
  });

  it('ends a silent session by the clock handed in, closes its connection, and sleeps otherwise', async () => {
    const clock = new ManualClock();
    const server = await start({ clock });
    const silent = await open(server, { timeoutMs: 4000 });
    const witness = await open(server, { timeoutMs: 60_000 });
    await silent.call(create('/mine', 1));
    await witness.call(exists('/mine', true));
    witness.takeMessages();

    clock.advance(3999);
    await new Promise(setImmediate); // what has arrived is read first
    const timers = clock.pending;
    clock.advance(1);
    await silent.until(() => silent.isClosed);
    await witness.call(exists('/mine'));

    expect(timers).toBe(1);
    expect(witness.takeMessages()).toMatchObject([
      { kind: 'event', body: { type: 2, path: '/mine' } },
      { kind: 'reply', error: -101 },
    ]);
    expect(server.model.sessions.size).toBe(1);
  });

  it.each([60_000, -60_000])('keeps sessions when the time is set by %i ms, and ends them no later', async (stepMs) => {
    const clock = new ManualClock();
    const server = await start({ clock });
    const [silent, live] = [await open(server, { timeoutMs: 4000 }), await open(server, { timeoutMs: 10_000 })];

    clock.stepMs = stepMs;
    clock.advance(3000);
    await live.call(create('/later'), exists('/later'));
    const sessionsBefore = server.model.sessions.size;
    clock.advance(1001);
    await silent.until(() => silent.isClosed);

    expect(sessionsBefore).toBe(2);
    expect(server.model.sessions.size).toBe(1);
    expect(live.takeMessages().at(-1)).toMatchObject({ body: { stat: { ctime: clock.now() - 1001 } } });
  });

  it('holds the session timeout to the limits', async () => {
    const server = await start({ minSessionTimeoutMs: 2000, maxSessionTimeoutMs: 9000 });

    const [short, long] = [await open(server, { timeoutMs: 1 }), await open(server, { timeoutMs: 100_000 })];

    expect([short.session.timeoutMs, long.session.timeoutMs]).toEqual([2000, 9000]);
  });

  it.each([
    ['a negative length', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['a length beyond the limit', Buffer.from([0x7f, 0, 0, 0])],
    ['a packet without a header', Buffer.from([0, 0, 0, 2, 1, 2])],
    ['an unknown operation', Buffer.from([0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0x27, 0x0f])],
  ])('closes just the connection that sends %s', async (_, bytes) => {
    const server = await start();
    const [bad, good] = [await open(server), await open(server)];

    bad.expect(1, OpCode.ping);
    bad.sendBytes(bytes);
    await bad.until(() => bad.isClosed);

    await good.call(exists('/'));
    expect(good.takeMessages()).toMatchObject([{ error: 0 }]);
    expect(server.model.sessions.size).toBe(2);
  });

  it('answers an attempt at SASL with an authentication failure, and serves the client as before', async () => {
    const server = await start();
    const client = await open(server);

    await client.call({ type: OpCode.sasl, text: 'sasl', encode: (writer) => writer.bytes(Buffer.from('token')) });
    await client.call(exists('/'));

    expect(client.takeMessages()).toMatchObject([{ error: -115 }, { error: 0 }]);
  });

  it('rejects all requests of a client until it proved the login on its connection', async () => {
    const server = await start({ login: 'nodepool:secret' });
    const [stranger, guesser, member] = [await open(server), await open(server), await open(server)];
    await guesser.addAuth('digest', 'nodepool:guess');
    await member.addAuth('digest', 'nodepool:secret');
    await member.call(create('/kept'));
    for (const client of [guesser, member]) client.takeMessages();

    const attempts = [
      create('/mine', 1),
      exists('/kept', true),
      getData('/kept'),
      setData('/kept', 1),
      bare(OpCode.whoAmI),
    ];
    await stranger.call(...attempts, bare(OpCode.ping));
    await guesser.call(...attempts);
    await member.call(exists('/kept'), exists('/mine'));
    const again = await open(server, { session: member.session });
    await again.call(getData('/kept'));

    const refused = attempts.map(() => ({ error: -102 }));
    expect(stranger.takeMessages()).toMatchObject([...refused, { error: 0 }]);
    expect(guesser.takeMessages()).toMatchObject(refused);
    expect(member.takeMessages()).toMatchObject([{ error: 0, body: { stat: { version: 0 } } }, { error: -101 }]);
    expect(again.takeMessages()).toMatchObject([{ error: -102 }]);
    expect(server.model.watches.data.size).toBe(0);
  });

  it('takes further identities beside the login, which is itself none', async () => {
    const server = await start({ login: 'nodepool:secret' });
    const client = await open(server);

    await client.addAuth('digest', 'nodepool:secret');
    await client.addAuth('digest', 'zuul:own');
    await client.call(bare(OpCode.whoAmI));

    expect(client.takeMessages().at(-1)).toMatchObject({
      body: { clients: ['digest:zuul', 'ip:127.0.0.1'] },
    });
  });

  it('closes the connection of a session that is closed, after the reply', async () => {
    const server = await start();
    const [client, watcher] = [await open(server), await open(server)];
    await client.call(create('/mine', 1));
    await watcher.call(exists('/mine', true));
    client.takeMessages();
    watcher.takeMessages();

    await client.call(bare(OpCode.closeSession));
    await client.until(() => client.isClosed);
    await watcher.call(exists('/mine'));

    expect(client.takeMessages()).toMatchObject([{ error: 0 }]);
    expect(watcher.takeMessages()).toMatchObject([{ kind: 'event', body: { type: 2 } }, { error: -101 }]);
  });

  it('turns clients away while the disk is full, loses nothing it acknowledged, and serves again when there is space', async () => {
    const fileSystem = new MemoryFileSystem();
    const clock = new ManualClock();
    const server = await start({ fileSystem, clock });
    const client = await open(server);
    await client.call(create('/kept', 0, 1000), create('/mine', 1));
    client.takeMessages();

    fileSystem.capacityBytes = 2500;
    await client.call(setData('/kept', 2000));
    const whileFull = await open(server);
    const servedWhileFull = server.isServing;
    fileSystem.capacityBytes = Infinity;
    clock.advance(60_000);
    const again = await reopened(server, client);
    await again.call(getData('/kept'), exists('/mine'), setData('/kept', 10));

    expect(client.takeMessages()).toEqual([]);
    expect(client.isClosed).toBe(true);
    expect(servedWhileFull).toBe(false);
    expect(whileFull.isClosed).toBe(true);
    expect(again.session.id).toBe(client.session.id);
    expect(again.takeMessages()).toMatchObject([
      { body: { stat: { version: 0, dataLength: 1000 } } },
      { error: 0 },
      { body: { stat: { version: 1, dataLength: 10 } } },
    ]);
  });

  it('trusts nothing it wrote since the last sync when a sync fails', async () => {
    const fileSystem = new MemoryFileSystem();
    const clock = new ManualClock();
    const server = await start({ fileSystem, clock });
    const client = await open(server);
    await client.call(create('/kept'));

    fileSystem.syncError = new Error('EIO: i/o error, fdatasync');
    await client.call(create('/doubtful'));
    fileSystem.syncError = undefined;
    clock.advance(60_000);
    const again = await reopened(server, client);
    await again.call(exists('/kept'));

    expect(client.takeMessages()).toHaveLength(1);
    expect(again.takeMessages()).toMatchObject([{ error: 0 }]);
    expect(fileSystem.names().some((name) => name.startsWith('snapshot.'))).toBe(true);
  });

  /** Attaches again as soon as the server takes clients. */
  async function reopened(server: EmbeddedServer, client: RawClient): Promise<RawClient> {
    for (;;) {
      const again = await open(server, { session: client.session });
      if (!again.isClosed) return again;
    }
  }
});
