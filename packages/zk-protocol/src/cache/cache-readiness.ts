import { Listeners } from './listeners.js';
import type { ZooKeeperLogger } from '../base/logger.js';

/** Whether a cache is complete, with listeners. */
export class CacheReadiness {
  readonly #listeners: Listeners<[boolean]>;
  #ready = false;

  constructor(logger: ZooKeeperLogger) {
    this.#listeners = new Listeners(logger);
  }

  get ready(): boolean {
    return this.#ready;
  }

  set(ready: boolean): void {
    if (this.#ready === ready) return;
    this.#ready = ready;
    this.#listeners.call(ready);
  }

  onReady(listener: (ready: boolean) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Resolves when the cache is ready; rejects if the signal is aborted before. */
  whenReady(signal?: AbortSignal): Promise<void> {
    if (this.#ready) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        unsubscribe();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = () => finish(() => reject(signal?.reason as Error));
      const unsubscribe = this.onReady((ready) => {
        if (ready) finish(resolve);
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
    });
  }
}
