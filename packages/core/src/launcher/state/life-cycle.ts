import { setMaxListeners } from 'node:events';
import type { ZooKeeper } from '@nodepool/zk-protocol';

/** How far a launcher is between its start and its end, and whether work may begin. */
export class LifeCycle {
  readonly #zk: Pick<ZooKeeper, 'state'>;
  readonly #caches: readonly { readonly ready: boolean }[];
  readonly #stop = new AbortController();
  /** Random id of the database; known once the start has read it. */
  databaseId: string | undefined;
  /** Every provider that could start has started. */
  isStarted = false;
  /** Nothing more is accepted. */
  isDraining = false;

  /** @param caches - complete when records can be judged */
  constructor(zk: Pick<ZooKeeper, 'state'>, caches: readonly { readonly ready: boolean }[]) {
    this.#zk = zk;
    this.#caches = caches;
    setMaxListeners(0, this.#stop.signal); // one for each request that is recovered once the connection is back
  }

  /** Work may begin: caches are complete, ZooKeeper answers, and the launcher has not been stopped. */
  get isActive(): boolean {
    return this.#zk.state === 'CONNECTED' && this.#caches.every(({ ready }) => ready) && !this.#stop.signal.aborted;
  }

  /** Standby nodes may be asked for. */
  get isServing(): boolean {
    return this.isStarted && !this.isDraining && this.isActive;
  }

  /** Fires when the launcher stops. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(): void {
    this.#stop.abort(new Error('the launcher stops'));
  }
}
