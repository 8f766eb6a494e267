import { setMaxListeners } from 'node:events';
import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import { CloudOrders } from './cloud-orders.js';

/** The state of a launcher between start and stop, which decides whether work may begin. */
export class LifeCycle {
  readonly #zk: Pick<ZooKeeper, 'state' | 'sessionEpoch'>;
  readonly #caches: readonly { readonly ready: boolean }[];
  readonly #stop = new AbortController();
  /** Orders in progress. */
  readonly orders: CloudOrders;
  /** Random id of the database, and the session that has read it; known once the start has read it. */
  database: { readonly id: string; readonly epoch: number } | undefined;
  /** When another database was first served, and which one had been before: of this process. */
  replaced: { readonly sinceMs: number; readonly steadyMs: number; readonly before: string } | undefined;
  /** The start has ended. */
  isStarted = false;
  /** The launcher accepts no more requests. */
  isDraining = false;

  /** @param caches - must be complete before records can be judged */
  constructor(
    zk: Pick<ZooKeeper, 'state' | 'sessionEpoch' | 'sessionLeftMs'>,
    caches: readonly { readonly ready: boolean }[],
    clock: Clock,
  ) {
    this.#zk = zk;
    this.orders = new CloudOrders(zk, clock);
    this.#caches = caches;
    setMaxListeners(0, this.#stop.signal); // one for each request that is recovered once the connection is back
  }

  get databaseId(): string | undefined {
    return this.database?.id;
  }

  /**
   * Whether work may begin: this session has read which database it is, whose id machines carry, caches are complete, ZooKeeper is
   * connected, and the launcher has not stopped.
   */
  get isActive(): boolean {
    return this.isComplete && (this.database === undefined || this.database.epoch === this.#zk.sessionEpoch);
  }

  /** As {@link isActive}, but the database may be another one. */
  get isComplete(): boolean {
    if (this.#stop.signal.aborted || this.#zk.state !== 'CONNECTED') return false;
    for (const cache of this.#caches) if (!cache.ready) return false;
    return true;
  }

  /** Whether free nodes may be requested. */
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
