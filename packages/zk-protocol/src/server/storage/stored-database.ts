import type { Acl } from '../../client/contract/types.js';
import type { ZooKeeperLogger } from '../../base/logger.js';
import { isEphemeral } from '../model/owners.js';
import { ServerModel } from '../model/server-model.js';
import { DataDirectory } from './data-directory.js';
import { DirectoryLock } from './directory-lock.js';
import { nodeFileSystem } from './file-system.js';
import { type MoveNote, readMoveNote, writeMoveNote } from './move-note.js';

/** A znode of a {@link StoredDatabase}. */
export interface StoredZnode {
  readonly path: string;
  readonly data: Buffer;
  readonly acl: readonly Acl[];
  /** Number of children ever created, from which the server numbers the next one. */
  readonly childrenCreated: number;
}

/** The database of a stopped embedded server. No server can use it until it is closed. */
export class StoredDatabase {
  private constructor(
    private readonly lock: DirectoryLock,
    private readonly model: ServerModel,
  ) {}

  /**
   * Reads a data directory.
   * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOCKED` while a server uses it, `ZK_EMBEDDED_CORRUPT`, `ZK_EMBEDDED_IO`
   */
  static async open(dataDir: string, logger: ZooKeeperLogger): Promise<StoredDatabase> {
    const lock = await DirectoryLock.take(dataDir);
    try {
      const { model } = await new DataDirectory(nodeFileSystem, dataDir, logger).load(() => new ServerModel());
      return new StoredDatabase(lock, model);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get moveNote(): Promise<MoveNote | undefined> {
    return readMoveNote(this.lock.directory);
  }

  /** Marks the content as moved to an ensemble; `undefined` removes the mark. */
  setMoveNote(note: MoveNote | undefined): Promise<void> {
    return writeMoveNote(this.lock.directory, note);
  }

  /** All znodes except ephemerals, parents before children. */
  znodes(): StoredZnode[] {
    const znodes: StoredZnode[] = [];
    for (const [path, { data, acl, owner, childrenCreated }] of this.model.tree.entries()) {
      if (!isEphemeral(owner)) znodes.push({ path, data: data ?? Buffer.alloc(0), acl, childrenCreated });
    }
    return znodes.sort((a, b) => depthOf(a.path) - depthOf(b.path));
  }

  /** Paths of ephemerals, whose sessions were not closed. */
  ephemerals(): string[] {
    return [...this.model.tree.entries()].filter(([, { owner }]) => isEphemeral(owner)).map(([path]) => path);
  }

  close(): Promise<void> {
    return this.lock.release();
  }
}

function depthOf(path: string): number {
  return path.split('/').length;
}
