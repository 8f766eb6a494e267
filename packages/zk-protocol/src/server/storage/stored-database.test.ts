import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { onTestEnd, recordingLogger } from '../../../test/support/clients.js';
import { connect } from '../../client/connect.js';
import { startEmbeddedServer } from '../start.js';
import { StoredDatabase } from './stored-database.js';

const { logger } = recordingLogger();

async function filledDirectory(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stored-database-'));
  onTestEnd(() => rmSync(dataDir, { recursive: true }));
  const server = await startEmbeddedServer({ dataDir });
  const zk = await connect({ servers: server.connectString });
  await zk.ensurePath('/a/b');
  await zk.create('/a/n-', 'x', { sequential: true });
  await zk.create('/mine', '', { ephemeral: true });
  const closed = server.close();
  await Promise.all([closed, zk.close()]);
  return dataDir;
}

it('reads znodes, parents first, and keeps servers off until it is closed', async () => {
  const dataDir = await filledDirectory();

  const database = await StoredDatabase.open(dataDir, logger);
  const own = database.znodes().filter(({ path }) => path.startsWith('/a'));

  expect(own.map(({ path, data, childrenCreated }) => [path, data.toString(), childrenCreated])).toEqual([
    ['/a', '', 2],
    ['/a/b', '', 0],
    ['/a/n-0000000001', 'x', 0],
  ]);
  await expect(startEmbeddedServer({ dataDir })).rejects.toMatchObject({ code: 'ZK_EMBEDDED_LOCKED' });
  await database.close();
  await (await startEmbeddedServer({ dataDir })).close();
});

it('keeps a note about a move, which a server respects', async () => {
  const dataDir = await filledDirectory();
  const database = await StoredDatabase.open(dataDir, logger);

  await database.setMoveNote({ id: 'abc', to: 'zk1:2181', isDone: true });
  expect(await database.moveNote).toMatchObject({ to: 'zk1:2181' });
  await database.close();

  await expect(startEmbeddedServer({ dataDir })).rejects.toMatchObject({ code: 'ZK_EMBEDDED_MOVED' });
});
