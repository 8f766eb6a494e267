import { describe, expect, it } from 'vitest';
import { closing, eventually, reaches, recordStates, stopping } from '../../test/support/clients.js';
import { ScriptedServer } from '../../test/support/scripted-server.js';
import { World } from '../../test/support/world.js';
import { createZooKeeper } from './connect.js';

const world = new World({ tickMs: 200, minSessionTimeoutMs: 600 });

it('changes the state before it rejects calls, so that an immediate retry waits', async () => {
  const { proxy, client } = await world.proxied(20_000);
  let failures = 0;
  let stateAtFailure: string | undefined;
  proxy.delayAnswers(60_000);
  const retrying = (async () => {
    for (;;) {
      try {
        return await client.exists('/x');
      } catch {
        // A caller that retries at once.
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

it('rejects waiting calls after the session expired and opens a new one', async () => {
  const { proxy, client } = await world.proxied(3000);
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

it('knows for how long its session is certain to live', async () => {
  const { proxy, client } = await world.proxied(3000);
  const connected = client.sessionLeftMs;
  proxy.refuse();
  await reaches(client, 'SUSPENDED');
  const suspended = client.sessionLeftMs;
  await reaches(client, 'LOST');
  const lost = client.sessionLeftMs;
  proxy.heal();
  await reaches(client, 'CONNECTED');

  expect(connected).toBeGreaterThan(2000);
  expect(suspended).toBeGreaterThan(0);
  expect(lost).toBe(0);
  expect(client.sessionLeftMs).toBeGreaterThan(2000);
});

it('has lost its session when a server answers its request to resume it with another one', async () => {
  const server = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid)));
  const client = closing(createZooKeeper({ servers: server.connectString }));
  await client.whenConnected();
  const [epoch, states] = [client.sessionEpoch, recordStates(client)];

  server.resumesSessions = false;
  server.connections[0]?.socket.destroy();
  await eventually(() => expect(states).toEqual(['SUSPENDED', 'LOST', 'CONNECTED']));

  expect(client.sessionEpoch).toBe(epoch + 1);
  const [, refused, last] = server.connections;
  expect(refused?.requestedSession.readBigInt64BE()).toBe(1n);
  expect(last?.requestedSession.readBigInt64BE()).toBe(0n); // asks for a session of its own
});

it('does not repeat a create whose reply was lost', async () => {
  const { proxy, client } = await world.proxied(20_000);
  await client.create('/queue');
  proxy.delayAnswers(60_000);
  const creating = client.create('/queue/entry-', '', { sequential: true });
  const other = await world.session();
  await eventually(async () => expect(await other.getChildren('/queue')).toHaveLength(1));

  proxy.delayAnswers(0);
  proxy.cut();

  await expect(creating).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
  await reaches(client, 'CONNECTED');
  expect(await client.getChildren('/queue')).toHaveLength(1);
});

it('rejects calls if no server is reached within the session timeout', async () => {
  const client = closing(createZooKeeper({ servers: '127.0.0.1:1', sessionTimeoutMs: 200 }));

  await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
  await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });
});

describe('closing', () => {
  it('works before the first connection', async () => {
    const client = createZooKeeper({ servers: '127.0.0.1:1' });

    await client.close();

    expect(client.state).toBe('CLOSED');
    await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CLOSED' });
    await expect(client.whenConnected()).rejects.toMatchObject({ code: 'ZK_CLOSED' });
  });

  it('does not wait for a silent server until the session timeout', async () => {
    const { proxy, client } = await world.proxied(20_000);
    proxy.blackhole();
    const startedAtMs = performance.now();

    await client.close();

    expect(performance.now() - startedAtMs).toBeLessThan(6000);
  });

  it('ends the session of a client that is disconnected', async () => {
    const { proxy, client } = await world.proxied(20_000);
    await client.create('/mine', '', { ephemeral: true });
    const other = await world.session();
    proxy.refuse();
    await reaches(client, 'SUSPENDED');

    const closed = client.close();
    proxy.heal();
    await closed;

    expect(await other.exists('/mine')).toBeUndefined();
  });

  it('serves the calls made before it', async () => {
    const client = await world.connected();
    const creating = client.create('/last');

    await client.close();

    await expect(creating).resolves.toBe('/last');
  });
});

it('limits the number of unanswered requests', async () => {
  const server = await stopping(ScriptedServer.start(4000));
  const client = closing(createZooKeeper({ servers: server.connectString, maxBacklog: 100 }));
  const outcomes = Array.from({ length: 101 }, () => client.setData('/x', 'y'));
  for (const outcome of outcomes) outcome.catch(() => {}); // settled when the client is closed

  await expect(outcomes[100]).rejects.toMatchObject({ code: 'ZK_BACKLOG_FULL' });

  expect(client.counters.pending).toBe(100);
});
