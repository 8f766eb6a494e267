import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper } from '../client/contract/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { PathReader } from './path-reader.js';
import type { RecordDirectory, TreeLayout } from './tree-layout.js';

/** Pause after listing a directory failed for another reason than a broken connection. */
const RETRY_MS = 1000;

/** What a {@link Rebuild} works with. */
export interface RebuildParts {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  readonly layout: TreeLayout;
  readonly reader: PathReader;
  /** Ids of everything that is cached. */
  knownIds(): Iterable<string>;
  /** Everything has been read. */
  onDone(): void;
}

/** Reads all of a cache's directories anew; what is cached stays visible meanwhile and only differences are reported. */
export class Rebuild {
  readonly #parts: RebuildParts;
  /** Paths and directories that are still waited for; `undefined` when no rebuild is under way. */
  #waitingFor: Set<string> | undefined;

  constructor(parts: RebuildParts) {
    this.#parts = parts;
  }

  /** Begins anew, whatever is under way. */
  start(): void {
    const { layout, reader } = this.#parts;
    const waitingFor = new Set(layout.directories.map(({ path }) => path));
    this.#waitingFor = waitingFor;
    for (const directory of layout.directories) void this.#list(directory, waitingFor);
    reader.resume();
  }

  cancel(): void {
    this.#waitingFor = undefined;
  }

  /** One path is known now. @returns whether it was waited for */
  arrived(path: string): boolean {
    return this.#waitingFor?.delete(path) ?? false;
  }

  finishIfDone(): void {
    if (this.#waitingFor === undefined || this.#waitingFor.size > 0) return;
    this.#waitingFor = undefined;
    this.#parts.onDone();
  }

  async #list(directory: RecordDirectory, waitingFor: Set<string>): Promise<void> {
    let names: string[] = [];
    try {
      names = await this.#parts.zk.getChildren(directory.path);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) {
        this.#retry(directory, waitingFor, error);
        return;
      }
    }
    if (this.#waitingFor !== waitingFor) return;
    this.#onListed(directory, names, waitingFor);
    waitingFor.delete(directory.path);
    this.finishIfDone();
  }

  #retry(directory: RecordDirectory, waitingFor: Set<string>, error: unknown): void {
    if (this.#waitingFor !== waitingFor || isConnectionError(error)) return;
    this.#parts.logger.error('Cannot list records, trying again', { path: directory.path, error });
    this.#parts.clock.setTimer(RETRY_MS, () => {
      if (this.#waitingFor === waitingFor) void this.#list(directory, waitingFor);
    });
  }

  /**
   * Reads what was found and what is cached. What is missing is not dropped on the word of the list: one of our commits
   * may have made it after the list was taken.
   */
  #onListed(directory: RecordDirectory, names: string[], waitingFor: Set<string>): void {
    const { layout, reader } = this.#parts;
    const ids = new Set<string>();
    for (const name of names) {
      const cached = layout.classify(`${directory.path}/${name}`);
      if (cached?.kind === 'record') ids.add(cached.id);
    }
    for (const id of this.#parts.knownIds()) if (layout.directoryOf(id) === directory) ids.add(id);
    for (const id of ids) {
      const path = layout.recordPath(directory, id);
      waitingFor.add(path);
      reader.mark({ read: 'data', path, id });
      if (!layout.locks) continue;
      const lock = layout.lockPath(directory, id);
      waitingFor.add(lock);
      reader.mark({ read: 'children', path: lock, id });
    }
  }
}

/** Whether the connection, and not the call, is what failed: a rebuild follows when there is one again. */
export function isConnectionError(error: unknown): boolean {
  return isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_SESSION_MOVED');
}
