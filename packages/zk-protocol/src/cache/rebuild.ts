import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { ZooKeeper } from '../client/contract/types.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { PathReader } from './path-reader.js';
import type { RecordDirectory, TreeLayout } from './tree-layout.js';

/** Delay before the retry of a listing that failed although the connection is up. */
const RETRY_MS = 1000;

/** Settings of a {@link Rebuild}. */
export interface RebuildOptions {
  readonly zk: Pick<ZooKeeper, 'getChildren'>;
  readonly clock: Clock;
  readonly logger: ZooKeeperLogger;
  readonly layout: TreeLayout;
  readonly reader: PathReader;
  /** Ids of all cached records and locks. */
  knownIds(): Iterable<string>;
  /** Called when everything has been read. */
  onDone(): void;
}

/** Reads all directories of a cache again. Cached records stay visible meanwhile, and only differences are reported. */
export class Rebuild {
  readonly #options: RebuildOptions;
  /** Paths and directories still to be read; `undefined` if no rebuild is running. */
  #waitingFor: Set<string> | undefined;

  constructor(options: RebuildOptions) {
    this.#options = options;
  }

  /** Starts a rebuild; replaces a running one. */
  start(): void {
    const { layout, reader } = this.#options;
    const waitingFor = new Set(layout.directories.map(({ path }) => path));
    this.#waitingFor = waitingFor;
    for (const directory of layout.directories) void this.#list(directory, waitingFor);
    reader.resume();
  }

  cancel(): void {
    this.#waitingFor = undefined;
  }

  /** Marks a path as known. @returns whether the rebuild waited for it */
  arrived(path: string): boolean {
    return this.#waitingFor?.delete(path) ?? false;
  }

  finishIfDone(): void {
    if (this.#waitingFor === undefined || this.#waitingFor.size > 0) return;
    this.#waitingFor = undefined;
    this.#options.onDone();
  }

  async #list(directory: RecordDirectory, waitingFor: Set<string>): Promise<void> {
    let names: string[] = [];
    try {
      names = await this.#options.zk.getChildren(directory.path);
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
    this.#options.logger.error('Failed to list records; retrying', { path: directory.path, error });
    this.#options.clock.setTimer(RETRY_MS, () => {
      if (this.#waitingFor === waitingFor) void this.#list(directory, waitingFor);
    });
  }

  /**
   * Reads all listed and all cached records. A cached record that is not listed is read too: an own commit may have
   * created it after the listing.
   */
  #onListed(directory: RecordDirectory, names: string[], waitingFor: Set<string>): void {
    const { layout, reader } = this.#options;
    const ids = new Set<string>();
    for (const name of names) {
      const cached = layout.classify(`${directory.path}/${name}`);
      if (cached?.kind === 'record') ids.add(cached.id);
    }
    for (const id of this.#options.knownIds()) if (layout.directoryOf(id) === directory) ids.add(id);
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

/** Whether a call failed because of the connection; a rebuild follows after the reconnect. */
export function isConnectionError(error: unknown): boolean {
  return isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_SESSION_MOVED');
}
