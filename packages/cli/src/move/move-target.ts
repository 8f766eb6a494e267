import {
  COMPONENTS_ROOT,
  componentPath,
  componentsPath,
  DATABASE_ID_PATH,
  isZooKeeperError,
  MultiError,
  NODEPOOL_ROOT,
} from '@nodepool/zk-protocol';
import type { Operation, ZooKeeper } from '@nodepool/zk-protocol';
import type { StoredZnode } from '@nodepool/zk-protocol/embedded';
import { CliError } from '../command/errors.js';
import { ifPresent } from '../connection/fetch-records.js';

/** Exists while a copy to the ensemble may be incomplete. */
const MARKER = `${NODEPOOL_ROOT}/moving`;
/** Most znodes that a message names. */
const NAMED = 3;

/** The ensemble that a database is moved to. */
export class MoveTarget {
  constructor(
    private readonly zk: ZooKeeper,
    /** Id of the move; marks its copy. */
    private readonly id: string,
    private readonly servers: string,
  ) {}

  /** Progress of this move; `none` for an unused ensemble. @throws CliError if it holds other data */
  async progress(): Promise<'none' | 'started' | 'complete'> {
    const marker = await ifPresent(this.zk.getData(MARKER));
    const [id, state] = marker?.data.toString().split(' ') ?? [];
    if (id === this.id && state === 'complete') return 'complete';
    const occupants = await findOccupants(this.zk, NODEPOOL_ROOT);
    const isUsed = occupants.some(({ path, isEphemeral }) => isEphemeral || path === DATABASE_ID_PATH);
    if (id === this.id && !isUsed) return 'started';
    if (occupants.length === 0) return 'none';
    const names = occupants.slice(0, NAMED).map(({ path }) => path);
    throw new CliError(
      `the ensemble ${this.servers} already holds data of Nodepool: ${names.join(', ')}` +
        `${occupants.length > NAMED ? ', ...' : ''}. Nothing was changed there. Stop the services that use it, see ` +
        `whether that data is needed, and delete ${NODEPOOL_ROOT} there; or configure another chroot`,
    );
  }

  /** Removes the remains of an interrupted copy, and marks the ensemble. */
  async begin(): Promise<void> {
    await this.zk.ensurePath(NODEPOOL_ROOT);
    if ((await this.zk.exists(MARKER)) === undefined) await this.zk.create(MARKER, `${this.id} begun`);
    for (const child of await this.zk.getChildren(NODEPOOL_ROOT)) {
      const path = `${NODEPOOL_ROOT}/${child}`;
      if (path !== MARKER) await this.zk.deleteRecursive(path);
    }
  }

  /**
   * Creates the last znode, the id of the database, and marks the copy as complete. A service that was started before finds no id, makes a new one, and ignores the resources of the old database.
   */
  async complete(last: StoredZnode | undefined): Promise<void> {
    const operations: Operation[] = last ? [{ op: 'create', path: last.path, data: last.data }] : [];
    try {
      await this.zk.multi([...operations, { op: 'set', path: MARKER, data: `${this.id} complete` }]);
    } catch (error) {
      if (!(error instanceof MultiError) || !isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
      throw new CliError(
        `a service was started on ${this.servers} before the copy was complete. Stop all services there, delete ${NODEPOOL_ROOT} there, ` +
          'and repeat this command',
        { cause: error },
      );
    }
  }

  /** Removes the mark. */
  async forget(): Promise<void> {
    await ifPresent(this.zk.delete(MARKER));
  }

  /** The launchers, builders and pools that are registered there, as paths. */
  async users(): Promise<string[]> {
    const users: string[] = [];
    for (const kind of (await ifPresent(this.zk.getChildren(COMPONENTS_ROOT))) ?? []) {
      const ids = (await ifPresent(this.zk.getChildren(componentsPath(kind)))) ?? [];
      users.push(...ids.map((id) => componentPath(kind, id)));
    }
    return users;
  }

  /**
   * Deletes the mark, and the id when it is that of the moved database: services that start there make a new one, and ignore the resources of the moved database.
   */
  async giveUp(databaseId: string | undefined): Promise<void> {
    const operations: Operation[] = [];
    const id = await ifPresent(this.zk.getData(DATABASE_ID_PATH));
    const marker = await ifPresent(this.zk.getData(MARKER));
    if (id?.data.toString() === databaseId) operations.push(...deletion(DATABASE_ID_PATH, id));
    if (marker?.data.toString().split(' ')[0] === this.id) operations.push(...deletion(MARKER, marker));
    if (operations.length > 0) await this.zk.multi(operations);
  }
}

function deletion(path: string, read: { readonly stat: { readonly version: number } } | undefined): Operation[] {
  return read ? [{ op: 'delete', path, version: read.stat.version }] : [];
}

/** Records, registrations and marks below a path; empty directories do not count. */
async function findOccupants(zk: ZooKeeper, path: string): Promise<{ path: string; isEphemeral: boolean }[]> {
  const found = await ifPresent(zk.getChildren2(path));
  if (found === undefined) return [];
  const { children, stat } = found;
  const isEphemeral = stat.ephemeralOwner !== 0n;
  const own = stat.dataLength > 0 || isEphemeral ? [{ path, isEphemeral }] : [];
  const below: { path: string; isEphemeral: boolean }[] = [];
  for (const child of children) below.push(...(await findOccupants(zk, `${path}/${child}`)));
  return [...own, ...below];
}
