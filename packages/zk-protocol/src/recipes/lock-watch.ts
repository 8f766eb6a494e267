import type { Clock } from '../base/clock.js';
import type { ConnectionState, ZooKeeper } from '../client/contract/types.js';
import { LockLostError } from './errors.js';

/** What a {@link LockWatch} needs to know about the lock it guards. */
export interface LockWatchOptions {
  readonly root: string;
  readonly ephemeral: boolean;
  readonly clock: Clock;
  /** How long the connection may be away before the lock counts as lost. */
  readonly safeSuspendedMs: number;
}

/** Fires a signal when a lock that was obtained may no longer be ours. */
export class LockWatch {
  readonly #controller = new AbortController();
  readonly #unsubscribe: () => void;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(
    zk: ZooKeeper,
    private readonly options: LockWatchOptions,
  ) {
    this.#unsubscribe = zk.onState(this.#onState);
    this.#onState(zk.state);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The own entry is gone although this process did not give the lock back. */
  entryDeleted(): void {
    this.#lose('its entry was deleted');
  }

  /** The lock was given back; the signal stays as it is. */
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
      // The entry outlives the session, so no other process can have got the lock.
    } else if (state === 'SUSPENDED') {
      const { clock, safeSuspendedMs } = this.options;
      this.#cancelTimer ??= clock.setTimer(safeSuspendedMs, () => this.#lose('ZooKeeper cannot be reached'));
    } else {
      this.#lose('the ZooKeeper session is over');
    }
  };

  #lose(why: string): void {
    if (this.#stopped) return;
    this.stop();
    this.#controller.abort(new LockLostError(this.options.root, why));
  }
}
