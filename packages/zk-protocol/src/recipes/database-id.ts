import { randomBytes } from 'node:crypto';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { RecordError } from '../records/errors.js';
import { DATABASE_ID_PATH, NODEPOOL_ROOT } from '../records/paths.js';

const BYTES = 16;
const DATABASE_ID = /^[0-9a-f]{32}$/;

/**
 * Reads the random id of the database.
 * @returns `undefined` if no service has started on this database yet
 * @throws {RecordError} the znode holds no id
 */
export async function readDatabaseId(zk: Pick<ZooKeeper, 'getData'>): Promise<string | undefined> {
  let data: Buffer;
  try {
    ({ data } = await zk.getData(DATABASE_ID_PATH));
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
  const text = data.toString('utf8');
  if (DATABASE_ID.test(text)) return text;
  throw new RecordError(
    DATABASE_ID_PATH,
    `it holds ${JSON.stringify(text.slice(0, 80))} instead of 32 hexadecimal digits; restore the id that resources in ` +
      'the clouds carry as tag nodepool_database_id, or delete the znode to get a new one',
  );
}

/**
 * Reads the id of the database, and creates it if there is none. It never changes afterwards. Waits for a connection, and
 * retries when it breaks.
 * @param directories - to create first, below {@link NODEPOOL_ROOT}
 * @throws {RecordError} the znode holds no id; or the reason of the signal
 */
export async function ensureDatabaseId(
  zk: ZooKeeper,
  signal?: AbortSignal,
  directories: readonly string[] = [NODEPOOL_ROOT],
): Promise<string> {
  for (;;) {
    await zk.whenConnected(signal);
    try {
      await Promise.all(directories.map((path) => zk.ensurePath(path)));
      const known = await readDatabaseId(zk);
      if (known !== undefined) return known;
      await zk.create(DATABASE_ID_PATH, randomBytes(BYTES).toString('hex'));
    } catch (error) {
      // Several services may start at once: one creates the id, all read it.
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS', 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED')) throw error;
    }
  }
}
