import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createZooKeeper, connect, type WatchEvent, type ZooKeeper } from '../../src/index.js';
import { startClient } from '../../src/client/connect.js';
import {
  changesTo,
  closing,
  eventually,
  onTestEnd,
  reaches,
  recordingLogger,
  recordStates,
  stopping,
} from '../support/clients.js';
import { jute, ScriptedServer } from '../support/scripted-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** Each defect of node-zookeeper-client 1.1.3 that the transport has to be free of, by number. */
describe('the defects of the stock client', () => {
  let zooKeeper: ZooKeeperHandle;
  let chroots = 0;

  beforeAll(async () => {
    zooKeeper = await startZooKeeper({ tickMs: 200, minSessionTimeoutMs: 600 });
  });
  afterAll(() => zooKeeper.stop());

  /** A client of its own subtree. */
  async function connected(options: { servers?: string; sessionTimeoutMs?: number } = {}): Promise<ZooKeeper> {
    const servers = `${options.servers ?? zooKeeper.connectString}/defects-${(chroots += 1)}`;
    const client = closing(await connect({ sessionTimeoutMs: 4000, ...options, servers }));
    await client.ensurePath('/');
    return client;
  }

  async function proxied(sessionTimeoutMs = 4000): Promise<{ proxy: TcpProxy; client: ZooKeeper }> {
    const server = zooKeeper.servers[0];
    if (server === undefined) throw new Error('no server');
    const proxy = await stopping(TcpProxy.start(server));
    return { proxy, client: await connected({ servers: proxy.connectString, sessionTimeoutMs }) };
  }

  it('defect 1: pings are sent while events keep coming', async () => {
    const server = await stopping(ScriptedServer.start(2000));
    closing(await connect({ servers: server.connectString, sessionTimeoutMs: 2000 }));
    const events = setInterval(() => server.connections[0]?.event(3, '/busy'), 10);
    onTestEnd(() => clearInterval(events));

    await eventually(() => expect(server.pings).toBeGreaterThanOrEqual(4));

    expect(server.connections).toHaveLength(1);
  });

  it('defect 2: a silent peer is noticed within the session timeout and its calls are answered', async () => {
    const { proxy, client } = await proxied(6000);
    const startedAtMs = performance.now();
    proxy.blackhole();

    await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });

    const tookMs = performance.now() - startedAtMs;
    expect(client.state).toBe('SUSPENDED');
    expect(tookMs).toBeGreaterThan(2000);
    expect(tookMs).toBeLessThan(6000);
  });

  it.each([1, 2, 3, 4, 5, 20, 40, 41, 42, 44, 60])(
    'defect 3: an answer cut at byte %i does not spoil the next connection',
    async (bytes) => {
      const { proxy, client } = await proxied();
      await client.create('/cut', 'body');
      const epoch = client.sessionEpoch;
      proxy.cutNextAfter(bytes);
      proxy.cut();

      await eventually(async () => expect((await client.getData('/cut')).data.toString()).toBe('body'));

      expect(client.sessionEpoch).toBe(epoch);
    },
  );

  it('defect 4: version 0 is checked in a multi', async () => {
    const client = await connected();
    await client.create('/versioned');
    await client.setData('/versioned', '1');
    await client.setData('/versioned', '2');

    for (const operation of [
      { op: 'check', path: '/versioned', version: 0 },
      { op: 'set', path: '/versioned', data: '', version: 0 },
      { op: 'delete', path: '/versioned', version: 0 },
    ] as const) {
      await expect(client.multi([operation])).rejects.toMatchObject({ code: 'ZK_BAD_VERSION', failedIndex: 0 });
    }
    expect((await client.exists('/versioned'))?.version).toBe(2);
  });

  it.each([
    [-118, 'ZK_SESSION_MOVED'],
    [-121, 'ZK_NO_WATCHER'],
    [-125, 'ZK_SERVER_ERROR'],
    [-127, 'ZK_SERVER_ERROR'],
    [-9999, 'ZK_SERVER_ERROR'],
    [42, 'ZK_SERVER_ERROR'],
  ])('defect 5: the error number %i rejects one call with %s', async (serverCode, code) => {
    const server = await stopping(
      ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid, serverCode)),
    );
    const client = closing(await connect({ servers: server.connectString }));

    await expect(client.getData('/x')).rejects.toMatchObject({ code, serverCode, path: '/x' });

    expect(client.state).toBe('CONNECTED');
  });

  it('defect 6: the state has changed before a failed call is told, so a retry waits instead of spinning', async () => {
    const { proxy, client } = await proxied(20_000);
    let failures = 0;
    let stateAtFailure: string | undefined;
    proxy.delayAnswers(60_000);
    const retrying = (async () => {
      for (;;) {
        try {
          return await client.exists('/x');
        } catch {
          // Retried at once, as a careless caller would: counted below.
          failures += 1;
          stateAtFailure ??= client.state;
        }
      }
    })();
    await eventually(() => expect(client.counters.requests).toBeGreaterThan(2));

    proxy.delayAnswers(0);
    proxy.cut();
    await retrying;

    expect(stateAtFailure).toBe('SUSPENDED');
    expect(failures).toBeLessThanOrEqual(3);
  });

  it('defect 7: a server that accepts and stays silent does not keep the client from the next', async () => {
    const silent = await stopping(ScriptedServer.start(4000));
    silent.answersHandshake = false;

    const client = closing(
      await connect({
        servers: `${silent.connectString},${zooKeeper.connectString}`,
        sessionTimeoutMs: 1000,
        random: () => 0.999, // keeps the order of the list
      }),
    );

    expect(client.state).toBe('CONNECTED');
    expect(silent.connections.length).toBeGreaterThan(0);
  });

  it('defect 8: eleven thousand watches are set again after a reconnect', async () => {
    const { proxy, client } = await proxied(10_000);
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

  it('defect 9: credentials and watches are sent once and first on each connection', async () => {
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

  it('defect 10: after expiry the waiting calls are answered and a new session begins by itself', async () => {
    const { proxy, client } = await proxied(3000);
    const states = recordStates(client);
    const epoch = client.sessionEpoch;
    proxy.refuse();
    await reaches(client, 'SUSPENDED');

    await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_SESSION_EXPIRED' });
    expect(client.state).toBe('LOST');
    proxy.heal();
    await reaches(client, 'CONNECTED');

    expect(states).toEqual(['SUSPENDED', 'LOST', 'CONNECTED']);
    expect(client.sessionEpoch).toBe(epoch + 1);
    await client.create('/after', '', { ephemeral: true });
    expect((await client.exists('/after'))?.ephemeralOwner).toBe(client.sessionId);
  });

  it('defect 11: request numbers start over before they exceed 31 bits', async () => {
    const options = { servers: zooKeeper.connectString, sessionTimeoutMs: 4000 };
    const client = closing(startClient(options, 0x7fff_ffff - 5));

    const answers = await Promise.all(Array.from({ length: 20 }, () => client.exists('/')));

    expect(answers.every((stat) => stat !== undefined)).toBe(true);
  });

  it('defect 12: a create whose answer was lost is not repeated', async () => {
    const { proxy, client } = await proxied(20_000);
    await client.create('/queue');
    proxy.delayAnswers(60_000);
    const creating = client.create('/queue/entry-', '', { sequential: true });
    const other = closing(await connect({ servers: `${zooKeeper.connectString}/defects-${chroots}` }));
    await eventually(async () => expect(await other.getChildren('/queue')).toHaveLength(1));

    proxy.delayAnswers(0);
    proxy.cut();

    await expect(creating).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
    await reaches(client, 'CONNECTED');
    expect(await client.getChildren('/queue')).toHaveLength(1);
  });

  describe('defect 13: close', () => {
    it('works before there was a connection', async () => {
      const client = createZooKeeper({ servers: '127.0.0.1:1' });

      await client.close();

      expect(client.state).toBe('CLOSED');
      await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CLOSED' });
      await expect(client.whenConnected()).rejects.toMatchObject({ code: 'ZK_CLOSED' });
    });

    it('does not wait for the session timeout when the server is silent', async () => {
      const { proxy, client } = await proxied(20_000);
      proxy.blackhole();
      const startedAtMs = performance.now();

      await client.close();

      expect(performance.now() - startedAtMs).toBeLessThan(6000);
    });

    it('ends the session of a client that is disconnected', async () => {
      const { proxy, client } = await proxied(20_000);
      await client.create('/mine', '', { ephemeral: true });
      const other = closing(await connect({ servers: `${zooKeeper.connectString}/defects-${chroots}` }));
      proxy.refuse();
      await reaches(client, 'SUSPENDED');

      const closed = client.close();
      proxy.heal();
      await closed;

      expect(await other.exists('/mine')).toBeUndefined();
    });

    it('serves the calls made before it', async () => {
      const client = await connected();
      const creating = client.create('/last');

      await client.close();

      await expect(creating).resolves.toBe('/last');
    });
  });

  it('defect 14: a listener that throws does not stall the answers behind it', async () => {
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
    expect(lines).toContain('error A ZooKeeper watch listener failed: listener broke');
  });

  it('defect 15: a watch set by an answer hears the event right behind it in the same chunk', async () => {
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

  it('defect 16: the number of requests without answer is bounded', async () => {
    const server = await stopping(ScriptedServer.start(4000));
    const client = closing(createZooKeeper({ servers: server.connectString, maxBacklog: 100 }));
    const outcomes = Array.from({ length: 101 }, () => client.setData('/x', 'y'));
    for (const outcome of outcomes) outcome.catch(() => {}); // settled when the client is closed

    await expect(outcomes[100]).rejects.toMatchObject({ code: 'ZK_BACKLOG_FULL' });

    expect(client.counters.pending).toBe(100);
  });

  describe('defect 17: arguments', () => {
    it('a sequential create may have no prefix', async () => {
      const client = await connected();
      await client.create('/nodes');

      await expect(client.create('/nodes/', '', { sequential: true })).resolves.toBe('/nodes/0000000000');
    });

    it('a body may be empty', async () => {
      const client = await connected();
      await client.create('/empty', 'x');
      await client.setData('/empty', '');

      expect((await client.getData('/empty')).data).toHaveLength(0);
    });

    it('a server may have an IPv6 address', async () => {
      const server = createServer((socket) => socket.on('error', () => {}));
      server.listen(0, '::1');
      await once(server, 'listening');
      onTestEnd(() => server.close());
      const { port } = server.address() as { port: number };
      const dialled = once(server, 'connection');

      closing(createZooKeeper({ servers: `[::1]:${port}` }));

      const [socket] = (await dialled) as [Socket];
      socket.destroy();
    });
  });

  it('defect 18: thousands of frames in one chunk are read without recursion', async () => {
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

  describe('defect 19: choosing a server', () => {
    it('tries every address of a name', async () => {
      const [server] = zooKeeper.servers;
      const dead = '127.0.0.77'; // nothing listens there
      const client = closing(
        await connect({
          servers: [{ host: 'zookeeper.example', port: server?.port ?? 0 }],
          lookup: (_host, done) => done(null, [dead, '127.0.0.1']),
          random: () => 0.999, // keeps the order of the addresses
        }),
      );

      expect(client.state).toBe('CONNECTED');
    });

    it('pauses longer after each round of failures and says so once in ten seconds', async () => {
      const server = await stopping(ScriptedServer.start(8000));
      const { lines, logger } = recordingLogger();
      const times: number[] = [];
      server.answersHandshake = false;
      const poll = setInterval(() => {
        for (const connection of server.connections.slice(times.length)) {
          times.push(performance.now());
          connection.socket.destroy();
        }
      }, 1);
      onTestEnd(() => clearInterval(poll));

      closing(createZooKeeper({ servers: server.connectString, sessionTimeoutMs: 8000, random: () => 0, logger }));
      await eventually(() => expect(times.length).toBeGreaterThanOrEqual(4));

      const pauses = times.slice(1, 4).map((time, i) => time - (times[i] ?? 0));
      expect(pauses[0]).toBeGreaterThan(90);
      expect(pauses[1]).toBeGreaterThan(190);
      expect(pauses[2]).toBeGreaterThan(390);
      expect(lines.filter((line) => line.startsWith('warn Retrying ZooKeeper connection'))).toHaveLength(1);
    });
  });
});
