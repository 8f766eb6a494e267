import type { ZooKeeper } from '../client/contract/types.js';
import { ZkLock } from './lock.js';
import type { ZkLockOptions } from './lock.js';

/** Elects one leader among processes, compatible with kazoo: the holder of the lock leads. */
export class Election {
  readonly #lock: ZkLock;

  constructor(zk: ZooKeeper, root: string, options: Omit<ZkLockOptions, 'ephemeral'> = {}) {
    this.#lock = new ZkLock(zk, root, options);
  }

  /**
   * Waits to become the leader, calls `lead`, and resigns when that settles.
   * @param lead - receives a signal that is aborted when another process may have become the leader
   * @param signal - ends the wait; does not interrupt `lead`
   * @returns false if `signal` ended the wait
   * @throws errors of `lead`, and ZooKeeper errors
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
