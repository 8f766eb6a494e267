import { expect, it } from 'vitest';
import { closing, stopping } from '../../../test/support/clients.js';
import { ScriptedServer } from '../../../test/support/scripted-server.js';
import { connect } from '../connect.js';

it.each([
  [-118, 'ZK_SESSION_MOVED'],
  [-121, 'ZK_NO_WATCHER'],
  [-125, 'ZK_SERVER_ERROR'],
  [-127, 'ZK_SERVER_ERROR'],
  [-9999, 'ZK_SERVER_ERROR'],
  [42, 'ZK_SERVER_ERROR'],
])('the error number %i rejects one call with %s', async (serverCode, code) => {
  const server = await stopping(ScriptedServer.start(4000, ({ xid, connection }) => connection.reply(xid, serverCode)));
  const client = closing(await connect({ servers: server.connectString }));

  await expect(client.getData('/x')).rejects.toMatchObject({ code, serverCode, path: '/x' });

  expect(client.state).toBe('CONNECTED');
});
