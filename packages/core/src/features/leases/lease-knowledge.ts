import type { Context } from '../../launcher/state/context.js';

/**
 * What a launcher knows of leases:
 * - `starting`: it has not read all records since its start
 * - `current`: what is true now, or was within the session timeout
 * - `cut-off`: it has been cut off from ZooKeeper for longer, has just woken, or has not read its records again since
 */
export type LeaseKnowledge = 'starting' | 'current' | 'cut-off';

/** A cache of records that leases consist of. It is not ready while it is disconnected, nor while it reads them again. */
export interface LeaseRecords {
  readonly ready: boolean;
  onReady(listener: (ready: boolean) => void): () => void;
}

/** Follows whether the records have been read in the last connection. */
export class LeaseReading {
  readonly #context: LeaseReadingContext;
  readonly #caches: readonly LeaseRecords[];
  readonly #unsubscribe: readonly (() => void)[];
  /** All were ready at some time in this connection; while there is none, in the last one. */
  #areRead: boolean;

  constructor(context: LeaseReadingContext, caches: readonly LeaseRecords[]) {
    this.#context = context;
    this.#caches = caches;
    this.#areRead = this.#areReady;
    this.#unsubscribe = [
      ...caches.map((cache) => cache.onReady(() => (this.#areRead ||= this.#areReady))),
      context.zk.onState((state) => {
        if (state === 'CONNECTED') this.#areRead = false; // none reads them before all listeners have been called
      }),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  get knowledge(): LeaseKnowledge {
    const { zk, life } = this.#context;
    if (!this.#areReady && !life.isStarted) return 'starting';
    const areRead = zk.state === 'CONNECTED' ? this.#areReady : this.#areRead;
    return zk.sessionLeftMs > 0 && areRead ? 'current' : 'cut-off';
  }

  get #areReady(): boolean {
    return this.#caches.every(({ ready }) => ready);
  }
}

interface LeaseReadingContext {
  readonly zk: Pick<Context['zk'], 'state' | 'onState' | 'sessionLeftMs'>;
  readonly life: Pick<Context['life'], 'isStarted'>;
}
