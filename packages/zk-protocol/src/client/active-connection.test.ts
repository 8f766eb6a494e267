import { expect, it } from 'vitest';
import { closing, eventually, onTestEnd, stopping } from '../../test/support/clients.js';
import { ScriptedServer } from '../../test/support/scripted-server.js';
import { World } from '../../test/support/world.js';
import { connect } from './connect.js';

const world = new World({ tickMs: 200, minSessionTimeoutMs: 600 });

it('sends pings while events arrive', async () => {
  const server = await stopping(ScriptedServer.start(2000));
  closing(await connect({ servers: server.connectString, sessionTimeoutMs: 2000 }));
  const events = setInterval(() => server.connections[0]?.event(3, '/busy'), 10);
  onTestEnd(() => clearInterval(events));

  await eventually(() => expect(server.pings).toBeGreaterThanOrEqual(4));

  expect(server.connections).toHaveLength(1);
});

it('detects a silent server within the session timeout and rejects its calls', async () => {
  const { proxy, client } = await world.proxied(6000);
  const startedAtMs = performance.now();
  proxy.blackhole();

  await expect(client.getData('/')).rejects.toMatchObject({ code: 'ZK_CONNECTION_LOSS' });

  const tookMs = performance.now() - startedAtMs;
  expect(client.state).toBe('SUSPENDED');
  expect(tookMs).toBeGreaterThan(2000);
  expect(tookMs).toBeLessThan(6000);
});

it('moves to a server of a new list with its session', async () => {
  const first = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid)));
  const second = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid)));
  const client = closing(await connect({ servers: first.connectString }));
  const epoch = client.sessionEpoch;
  const answered = client.sync('/');

  client.resetServers([{ host: '127.0.0.1', port: second.port }]);
  await answered;
  await eventually(() => expect(second.connections).toHaveLength(1));

  await client.sync('/');
  expect(client.sessionEpoch).toBe(epoch);
  expect(second.connections[0]?.requestedSession.readBigInt64BE()).toBe(client.sessionId);
  expect(() => client.resetServers([{ host: 'h', port: 1, chroot: '/other' }])).toThrow('chroot');
});
