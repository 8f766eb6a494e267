import { isZooKeeperError, MultiError, type CancelTimer, type Operation } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';

/** How often locks are given up: each is kept for at least this long, and at most for twice as long. */
const PERIOD_MS = 500;
const UNLOCKS_PER_TRANSACTION = 100;

/**
 * Keeps the locks of fulfilled requests for a moment. A requestor that changes priorities locks every request that it
 * still takes for unfinished; one that has just been fulfilled would be written by it with a version that is no more. As
 * long as the lock is held, it leaves the request alone. Locks are given up together, so that this costs next to nothing.
 */
export class LateUnlocks {
  readonly #context: Context;
  /** Lock entries kept since the last time, and those kept since the time before. */
  #young: string[] = [];
  #due: string[] = [];
  #epoch = -1;
  #cancel: CancelTimer | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Gives the lock up in a moment. @param entry - path of our entry in it */
  keep(entry: string): void {
    const { zk } = this.#context;
    if (this.#epoch !== zk.sessionEpoch) this.#forget();
    this.#epoch = zk.sessionEpoch;
    this.#young.push(entry);
    this.#cancel ??= this.#schedule();
  }

  /** Gives all of them up now. Resolves when they are gone. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const entries = [...this.#due, ...this.#young];
    this.#forget();
    await this.#unlock(entries, this.#epoch);
  }

  /** The locks go with the session. */
  stop(): void {
    this.#cancel?.();
    this.#forget();
  }

  #forget(): void {
    this.#young = [];
    this.#due = [];
  }

  #schedule(): CancelTimer {
    return this.#context.clock.setTimer(PERIOD_MS, () => {
      const entries = this.#due;
      this.#due = this.#young;
      this.#young = [];
      this.#cancel = this.#due.length > 0 ? this.#schedule() : undefined;
      this.#unlock(entries, this.#epoch).catch((error: unknown) =>
        this.#context.logger.warn('Could not give up the locks of fulfilled requests', { error }),
      );
    });
  }

  async #unlock(entries: readonly string[], epoch: number): Promise<void> {
    const { zk, committer } = this.#context;
    let rest = entries;
    while (rest.length > 0 && zk.sessionEpoch === epoch) {
      const batch = rest.slice(0, UNLOCKS_PER_TRANSACTION);
      try {
        await committer.commit(batch.map((path): Operation => ({ op: 'delete', path })));
        rest = rest.slice(batch.length);
      } catch (error) {
        if (!isZooKeeperError(error) || error.code === 'ZK_CLOSED') throw error;
        // it is gone: another process has removed it, or an attempt whose answer was lost
        if (error instanceof MultiError) rest = rest.filter((_entry, index) => index !== error.failedIndex);
        else await zk.whenConnected();
      }
    }
  }
}
