import type { Clock } from '../base/clock.js';
import type { ConnectionState, ZooKeeper } from '../client/contract/types.js';
import { LockLostError } from './errors.js';

/** Settings of a {@link LockWatch}. */
export interface LockWatchOptions {
  readonly root: string;
  readonly ephemeral: boolean;
  readonly clock: Clock;
  /** How long the connection may be down before the lock counts as lost. */
  readonly safeSuspendedMs: number;
}

/** Aborts a signal when an acquired lock may have been lost. */
export class LockWatch {
  readonly #controller = new AbortController();
  readonly #unsubscribe: () => void;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(
    zk: Pick<ZooKeeper, 'state' | 'onState'>,
    private readonly options: LockWatchOptions,
  ) {
    this.#unsubscribe = zk.onState(this.#onState);
    this.#onState(zk.state);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The own entry was deleted without a release. */
  entryDeleted(): void {
    this.#lose('its entry was deleted');
  }

  /** Stops watching after a release; the signal does not change any more. */
  stop(): void {
    this.#unsubscribe();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#stopped = true;
  }

  readonly #onState = (state: ConnectionState): void => {
    if (state === 'CONNECTED') {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    } else if (!this.options.ephemeral) {
      // The entry outlives the session, so no other process can acquire the lock.
    } else if (state === 'SUSPENDED') {
      const { clock, safeSuspendedMs } = this.options;
      this.#cancelTimer ??= clock.setTimer(safeSuspendedMs, () => this.#lose('ZooKeeper is unreachable'));
    } else {
      this.#lose('the ZooKeeper session ended');
    }
  };

  #lose(why: string): void {
    if (this.#stopped) return;
    this.stop();
    this.#controller.abort(new LockLostError(this.options.root, why));
  }
}
