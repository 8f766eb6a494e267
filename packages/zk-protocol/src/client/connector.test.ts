import { describe, expect, it } from 'vitest';
import { closing, eventually, onTestEnd, recordingLogger, recordStates, stopping } from '../../test/support/clients.js';
import { ScriptedServer } from '../../test/support/scripted-server.js';
import { World } from '../../test/support/world.js';
import { connect, createZooKeeper } from './connect.js';

const world = new World({ tickMs: 200, minSessionTimeoutMs: 600 });

it('moves on from a server that accepts connections but does not reply', async () => {
  const silent = await stopping(ScriptedServer.start(4000));
  silent.answersHandshake = false;

  const client = closing(
    await connect({
      servers: `${silent.connectString},${world.server.connectString}`,
      sessionTimeoutMs: 1000,
      random: () => 0.999, // keeps the order of the list
    }),
  );

  expect(client.state).toBe('CONNECTED');
  expect(silent.connections.length).toBeGreaterThan(0);
});

it('tries every address of a name', async () => {
  const [server] = world.server.servers;
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

it('waits longer after each failed round and warns once in ten seconds', async () => {
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

describe('with an ensemble', () => {
  const ensemble = new World({ ensemble: true });

  it('keeps session, ephemerals and watches when the leader is killed', async () => {
    const client = await ensemble.connected({ sessionTimeoutMs: 60_000 });
    const states = recordStates(client);
    const seen: string[] = [];
    await client.create('/mine', '', { ephemeral: true });
    await client.addWatch('/', 'persistent-recursive', ({ path }) => seen.push(path));
    const { sessionId } = client;
    const leader = await ensemble.server.leader();

    await ensemble.server.kill(leader);
    await eventually(() => client.create('/after').then(() => undefined));

    expect(client.sessionId).toBe(sessionId);
    expect((await client.exists('/mine'))?.ephemeralOwner).toBe(sessionId);
    expect(seen).toContain('/after');
    expect(states).not.toContain('LOST');
  });
});
