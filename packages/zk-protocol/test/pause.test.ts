import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedServer } from '../src/server/index.js';
import { OpCode } from '../src/server/model/constants.js';
import type { RunningServer } from '../src/server/start.js';
import { connect, ZkLock } from '../src/index.js';
import { RawClient } from './server/raw-client.js';
import { bare, create, exists } from './server/raw-requests.js';
import { eventually, onTestEnd, reaches, recordStates } from './support/clients.js';
import { ManualClock } from './support/manual-clock.js';

/** The process is stopped, e.g. by a debugger or while its virtual machine moves, and continues. */
describe('a pause of the process', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-pause-'));
    onTestEnd(() => rm(dataDir, { recursive: true }));
  });

  async function start(clock: ManualClock, port = 0): Promise<RunningServer> {
    const server = (await startEmbeddedServer({ dataDir, clock, port })) as RunningServer;
    onTestEnd(() => server.close());
    return server;
  }

  async function open(server: RunningServer, session?: RawClient['session']): Promise<RawClient> {
    const client = await RawClient.open(server.port, { timeoutMs: 4000, ...(session && { session }) });
    onTestEnd(() => client.drop());
    return client;
  }

  async function connected(server: RunningServer, clock: ManualClock, serverPauseMs = 0) {
    const { connectString: servers } = server;
    const client = await connect({ servers, clock, sessionTimeoutMs: 4000, serverPauseMs });
    onTestEnd(() => {
      const closed = client.close();
      clock.advance(1000);
      return closed;
    });
    return client;
  }

  it('does not end sessions whose pings wait in the sockets of the server', async () => {
    const clock = new ManualClock();
    const server = await start(clock);
    const client = await open(server);
    await client.call(create('/mine', 1));
    client.takeMessages();

    client.send(bare(OpCode.ping));
    clock.pause(13_000);
    await client.until(() => client.pendingReplies === 0);
    await client.call(exists('/mine'));

    expect(client.takeMessages()).toMatchObject([{ error: 0 }, { error: 0 }]);
    expect(server.model.sessions.size).toBe(1);
  });

  it('does not end sessions whose clients come back to the server after it, and ends silent ones no later', async () => {
    const clock = new ManualClock();
    const server = await start(clock);
    const [lost, silent] = [await open(server), await open(server)];
    await lost.call(create('/mine', 1));
    lost.drop();

    clock.pause(13_000);
    const witness = await open(server);
    const again = await open(server, lost.session);
    await again.call(exists('/mine'));
    clock.advance(3_900);
    await witness.call(exists('/'), bare(OpCode.ping));
    await again.call(exists('/'), bare(OpCode.ping));
    clock.advance(200);
    await silent.until(() => silent.isClosed);

    expect(again.session.id).toBe(lost.session.id);
    expect(again.takeMessages()[0]).toMatchObject({ error: 0 });
    expect(server.model.sessions.size).toBe(2);
  });

  it('does not end the session of a client in the process of its server', async () => {
    const clock = new ManualClock();
    const server = await start(clock);
    const client = await connected(server, clock);
    const states = recordStates(client);
    const { sessionId } = client;

    clock.pause(13_000);
    await client.create('/after');
    clock.pause(13_000);
    await client.create('/again');

    expect(client.sessionId).toBe(sessionId);
    expect(states).toEqual([]);
  });

  it('does not make a client give up its session before it has asked a server', async () => {
    const [clock, serverClock] = [new ManualClock(), new ManualClock()];
    const server = await start(serverClock);
    const client = await connected(server, clock);
    const states = recordStates(client);
    const { sessionId } = client;
    await server.close();
    await reaches(client, 'SUSPENDED');

    clock.pause(13_000);
    await start(serverClock, server.port);
    await eventually(() => {
      clock.advance(100);
      expect(client.state).not.toBe('SUSPENDED');
    });

    expect(states).toEqual(['SUSPENDED', 'CONNECTED']);
    expect(client.sessionId).toBe(sessionId);
  });

  it('of a lone server may be longer than the session timeout of its clients', async () => {
    const [clock, serverClock] = [new ManualClock(), new ManualClock()];
    const server = await start(serverClock);
    const patient = await connected(server, clock, 20_000);
    const other = await connected(server, clock);
    const locks = [patient, other].map((zk, index) => new ZkLock(zk, `/lock-${index}`, { clock }));
    await Promise.all(locks.map((lock) => lock.acquire()));
    const { sessionId } = patient;
    const states = recordStates(patient);
    await server.close();
    await reaches(patient, 'SUSPENDED');

    clock.advance(13_000);
    await reaches(other, 'LOST');
    await start(serverClock, server.port);
    await eventually(() => {
      clock.advance(100);
      expect(patient.state).not.toBe('SUSPENDED');
    });

    expect(states).toEqual(['SUSPENDED', 'CONNECTED']);
    expect(patient.sessionId).toBe(sessionId);
    expect(locks.map(({ held }) => held)).toEqual([true, false]);
  });
});
