import type { ZooKeeper } from '../client/contract/types.js';
import { ZkLock } from './lock.js';
import type { ZkLockOptions } from './lock.js';

/** Chooses one leader among processes, as kazoo does: whoever holds the lock leads. */
export class Election {
  readonly #lock: ZkLock;

  constructor(zk: ZooKeeper, root: string, options: Omit<ZkLockOptions, 'ephemeral'> = {}) {
    this.#lock = new ZkLock(zk, root, options);
  }

  /**
   * Waits to become the leader, calls `lead` and gives leadership up when that settles. Call it again to stand again.
   * @param lead - gets a signal that fires when another process may have become the leader
   * @param signal - ends the waiting; does not interrupt `lead`
   * @returns false when `signal` ended the waiting
   * @throws what `lead` throws, and ZooKeeper errors
   */
  async run(lead: (lost: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#lock.acquire({ signal });
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
    try {
      await lead(this.#lock.lost);
    } finally {
      await this.#lock.release();
    }
    return true;
  }

  /** Identifiers of all candidates, the leader first. */
  contenders(): Promise<string[]> {
    return this.#lock.contenders();
  }
}
