import { isZooKeeperError, MultiError, type CancelTimer, type Operation } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import type { Part } from '../state/part.js';

/** The interval between releases: each lock is kept for at least this long, and at most twice as long. */
const PERIOD_MS = 500;
const UNLOCKS_PER_TRANSACTION = 100;

/**
 * Keeps the locks of fulfilled requests for a moment. A requestor that changes priorities locks every request that it
 * considers unfinished, and would write one that has just been fulfilled with an outdated version. While the lock is held it
 * skips the request. Locks are released in batches, so the cost is negligible.
 */
export class DelayedUnlocks implements Part {
  readonly #context: Context;
  /** Lock entries added since the last release; those in `#due` are older. */
  #young: string[] = [];
  #due: string[] = [];
  #epoch = -1;
  #cancel: CancelTimer | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Releases the lock in a moment. @param entry - path of our entry in it */
  keep(entry: string): void {
    const { zk } = this.#context;
    if (this.#epoch !== zk.sessionEpoch) this.#forget();
    this.#epoch = zk.sessionEpoch;
    this.#young.push(entry);
    this.#cancel ??= this.#schedule();
  }

  /** Releases all locks now. Resolves when they are released. */
  async drain(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const entries = [...this.#due, ...this.#young];
    this.#forget();
    await this.#unlock(entries, this.#epoch);
  }

  readonly drains = 'the locks of fulfilled requests';

  /** Forgets all locks: they expire with the session. */
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
        // the entry is gone: removed by another process, or by an attempt that was not acknowledged
        if (error instanceof MultiError) rest = rest.filter((_entry, index) => index !== error.failedIndex);
        else await zk.whenConnected();
      }
    }
  }
}
