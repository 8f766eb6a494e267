import { backoffMs } from '../base/backoff.js';
import { delay } from '../base/clock.js';
import type { Clock } from '../base/clock.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import type { WatchEvent, ZooKeeper } from '../client/contract/types.js';
import { orAbort } from '../base/or-abort.js';
import { findPredecessor, newLockEntryPrefix, sortContenders } from './lock-entries.js';

/** A large jitter, so that many clients do not retry at the same moment. */
const PAUSE = { firstMs: 100, longestMs: 60_000, jitter: 0.5 };

interface LockQueueOptions {
  /** Called when the own entry is deleted, by any process. */
  readonly onEntryGone: (entryPath: string) => void;
  readonly identifier: string;
  readonly ephemeral: boolean;
  readonly clock: Clock;
}

/** A place in the queue of a lock directory. */
export class LockQueue {
  /** Fixed, so that the entry can be found after the reply to its create was lost. */
  readonly #prefix = newLockEntryPrefix();
  #entryPath: string | undefined;
  /** The entry whose deletion was reported last: the report may arrive with the replies that still show it. */
  #deletedPath: string | undefined;
  /** The reply to a create was lost. */
  #mayExist = false;
  #epoch = 0;
  #wake: () => void = () => {};

  constructor(
    private readonly zk: ZooKeeper,
    private readonly root: string,
    private readonly options: LockQueueOptions,
  ) {}

  get entryPath(): string | undefined {
    return this.#entryPath;
  }

  /** Whether the own entry was deleted, by any process. */
  get isEntryGone(): boolean {
    return this.#entryPath !== undefined && this.#entryPath === this.#deletedPath;
  }

  /**
   * Joins the queue and waits for the first place. Removes the own entry unless it returns true.
   * @returns false if not blocking and another process is ahead
   */
  async enter(blocking: boolean, stop: AbortSignal): Promise<boolean> {
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          const obtained = await this.#enterOnce(blocking, stop);
          if (!obtained) await this.leave();
          return obtained;
        } catch (error) {
          stop.throwIfAborted();
          if (!isTransient(error)) throw error;
        }
        await this.#pause(attempt, stop);
      }
    } catch (error) {
      await this.#leaveQuietly();
      throw error;
    }
  }

  async #enterOnce(blocking: boolean, stop: AbortSignal): Promise<boolean> {
    for (;;) {
      stop.throwIfAborted();
      this.#entryPath ??= await this.#createEntry();
      const own = this.#entryPath.slice(this.root.length + 1);
      const [children, stat] = await Promise.all([
        this.#children(),
        this.zk.exists(this.#entryPath, this.#onEntryEvent),
      ]);
      if (stat === undefined || !children.includes(own) || this.isEntryGone) {
        this.#entryPath = undefined;
        continue;
      }
      if (this.options.ephemeral && stat.ephemeralOwner !== this.zk.sessionId) {
        // The entry belongs to an earlier session, which the server has not ended yet.
        this.#entryPath = undefined;
        this.#mayExist = false;
        continue;
      }
      stop.throwIfAborted();
      const predecessor = findPredecessor(children, own);
      if (predecessor === undefined) return true;
      if (!blocking) return false;
      await this.#waitForChange(`${this.root}/${predecessor}`, stop);
    }
  }

  readonly #onEntryEvent = (event: WatchEvent): void => {
    if (event.type !== 'deleted') return;
    this.#deletedPath = event.path;
    this.options.onEntryGone(event.path);
    this.#wake();
  };

  async #createEntry(): Promise<string> {
    const found = this.#mayExist ? await this.#findEntry() : undefined;
    if (found !== undefined) return found;
    this.#epoch = this.zk.sessionEpoch;
    this.#mayExist = true;
    // in a directory that was removed and made again, the new entry may have the same name
    this.#deletedPath = undefined;
    try {
      const path = await this.#create();
      this.#mayExist = false;
      return path;
    } finally {
      // A request made between two sessions is executed in the second one.
      this.#epoch = this.zk.sessionEpoch;
    }
  }

  async #create(): Promise<string> {
    const { identifier, ephemeral } = this.options;
    const create = () => this.zk.create(`${this.root}/${this.#prefix}`, identifier, { ephemeral, sequential: true });
    for (;;) {
      try {
        return await create();
      } catch (error) {
        if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
      }
      await this.zk.ensurePath(this.root);
    }
  }

  async #findEntry(): Promise<string | undefined> {
    const own = (await this.#children()).filter((child) => child.startsWith(this.#prefix));
    // The newest: an entry of an earlier session may still exist.
    const name = sortContenders(own).at(-1);
    return name === undefined ? undefined : `${this.root}/${name}`;
  }

  async #children(): Promise<string[]> {
    try {
      return await this.zk.getChildren(this.root);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
      throw error;
    }
  }

  /** Returns when the predecessor changed or was deleted, the own entry was deleted, or the connection changed state. */
  async #waitForChange(predecessor: string, stop: AbortSignal): Promise<void> {
    let changed = () => {};
    const change = new Promise<void>((resolve) => (changed = resolve));
    this.#wake = changed;
    const unsubscribe = this.zk.onState(changed);
    try {
      await this.zk.getData(predecessor, changed);
      await orAbort(change, stop);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    } finally {
      unsubscribe();
    }
  }

  async #pause(attempt: number, stop?: AbortSignal): Promise<void> {
    await delay(this.options.clock, backoffMs(attempt, PAUSE, Math.random), stop);
    await this.zk.whenConnected(stop);
  }

  /** Removes the own entry, waiting for the connection if necessary. Does nothing if the entry is gone. */
  async leave(): Promise<void> {
    for (let attempt = 0; this.#entryPath !== undefined || this.#mayExist; attempt++) {
      if (this.#diedWithSession()) break;
      try {
        this.#entryPath ??= await this.#findEntry();
        if (this.#entryPath !== undefined) await this.zk.delete(this.#entryPath);
        break;
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_NO_NODE')) break;
        if (!isTransient(error)) throw error;
      }
      await this.#pause(attempt);
    }
    this.#entryPath = undefined;
    this.#mayExist = false;
  }

  async #leaveQuietly(): Promise<void> {
    try {
      await this.leave();
    } catch {
      // The caller gets the original error; an entry that cannot be deleted ends with the session.
    }
  }

  #diedWithSession(): boolean {
    const { sessionEpoch, state } = this.zk;
    return this.options.ephemeral && (sessionEpoch !== this.#epoch || state === 'LOST' || state === 'CLOSED');
  }
}

/** Errors that a reconnect resolves. */
function isTransient(error: unknown): boolean {
  return isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_SESSION_MOVED');
}
