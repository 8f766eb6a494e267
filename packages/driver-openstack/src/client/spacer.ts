import type { CancelTimer, Clock } from '@nodepool/zk-protocol';

interface Waiting {
  readonly begin: () => void;
}

/**
 * Keeps a distance between the starts of all calls to one service. Who matters more goes first: a list that everybody
 * waits for is not behind two hundred deletions.
 */
export class Spacer {
  readonly #clock: Clock;
  readonly #distanceMs: number;
  /** By priority. */
  readonly #queues: Set<Waiting>[] = [];
  #nextMs = -Infinity;
  #cancel: CancelTimer | undefined;

  /** @param distanceMs - `0`: no distance */
  constructor(clock: Clock, distanceMs: number) {
    this.#clock = clock;
    this.#distanceMs = distanceMs;
  }

  /**
   * Resolves when a call may begin; rejects with the signal's reason on abort.
   * @param priority - `0` goes first
   */
  acquire(priority: number, signal: AbortSignal): Promise<void> {
    if (this.#distanceMs <= 0) return Promise.resolve();
    signal.throwIfAborted();
    const now = this.#clock.now();
    if (this.#cancel === undefined && this.#nextMs <= now) {
      this.#nextMs = now + this.#distanceMs;
      return Promise.resolve();
    }
    return new Promise<void>((resolve, reject) => {
      const queue = (this.#queues[priority] ??= new Set());
      const onAbort = () => {
        queue.delete(waiting);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        begin: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(waiting);
      this.#schedule();
    });
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.setTimer(Math.max(0, this.#nextMs - this.#clock.now()), () => {
      this.#cancel = undefined;
      this.#serve();
    });
  }

  #serve(): void {
    for (const queue of this.#queues) {
      const [first] = queue ?? [];
      if (!first) continue;
      queue.delete(first);
      this.#nextMs = this.#clock.now() + this.#distanceMs;
      first.begin();
      break;
    }
    if (this.#queues.some((queue) => queue && queue.size > 0)) this.#schedule();
  }
}
