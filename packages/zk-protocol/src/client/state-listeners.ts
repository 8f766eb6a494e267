import { ZooKeeperError } from './contract/errors.js';
import type { ConnectionState } from './contract/types.js';

/** Called with each new state. */
export type StateListener = (state: ConnectionState) => void;

/** The state of a connection, with change listeners. */
export class StateListeners {
  readonly #onError: (error: unknown, state: ConnectionState) => void;
  readonly #listeners = new Set<StateListener>();
  #state: ConnectionState = 'SUSPENDED';

  /** @param onError - receives errors thrown by listeners */
  constructor(onError: (error: unknown, state: ConnectionState) => void) {
    this.#onError = onError;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Sets the state; `CLOSED` is final. An error of one listener does not affect the others. */
  set(state: ConnectionState): void {
    if (this.#state === state || this.#state === 'CLOSED') return;
    this.#state = state;
    for (const listener of [...this.#listeners]) {
      try {
        listener(state);
      } catch (error) {
        this.#onError(error, state);
      }
    }
  }

  /** Adds a listener, possibly more than once. @returns a function that removes it */
  add(listener: StateListener): () => void {
    const own: StateListener = (state) => listener(state);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Resolves in state `CONNECTED`; rejects when the client is closed or the signal is aborted. */
  whenConnected(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (state: ConnectionState) => {
        if (state === 'CONNECTED') resolve();
        else if (state === 'CLOSED') reject(new ZooKeeperError('ZK_CLOSED', 'the ZooKeeper client is closed'));
        else if (signal?.aborted === true) reject(signal.reason as Error);
        else return;
        unsubscribe();
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = () => settle(this.#state);
      const unsubscribe = this.add(settle);
      signal?.addEventListener('abort', onAbort, { once: true });
      settle(this.#state);
    });
  }
}
