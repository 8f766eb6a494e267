import { steadyNow, type CancelTimer, type Clock } from '@nodepool/zk-protocol';
import { TaskManager, type Logger } from '@nodepool/core';
import type { ServiceName } from './clouds/types.js';

/** Independent queues of calls: none waits for another. */
export type Lane = 'list' | 'read' | 'create' | 'change' | 'delete' | 'upload';

/** Options of {@link Lanes}. */
export interface LanesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls per second to each service, over all lanes; `undefined`: only limits that the cloud requests. */
  readonly requestsPerSecond: number | undefined;
  /** Number in [0, 1). */
  readonly random: () => number;
}

/** Concurrent calls and priority of each lane. */
const LANES: Readonly<Record<Lane, { readonly parallel: number; readonly priority: number }>> = {
  list: { parallel: 6, priority: 0 },
  read: { parallel: 10, priority: 1 },
  create: { parallel: 50, priority: 2 },
  change: { parallel: 20, priority: 2 },
  upload: { parallel: 10, priority: 3 },
  delete: { parallel: 30, priority: 3 },
};

/**
 * Queues of calls, one for each service and lane. When a service slows one of them down, the others continue. All lanes of
 * a service share the rate limit.
 */
export class Lanes {
  readonly #options: LanesOptions;
  readonly #spacers = new Map<ServiceName, Spacer>();
  readonly #queues = new Map<string, TaskManager>();

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Queues a call. Repeats a call that was refused by a rate limit. */
  run<T>(
    service: ServiceName,
    lane: Lane,
    call: string,
    fn: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const spacer = this.#spacer(service);
    const turn = (own: AbortSignal) => spacer.acquire(LANES[lane].priority, own);
    return this.#queue(service, lane).call(call, fn, { signal, turn, isTransfer: lane === 'upload' });
  }

  get taskManagers(): readonly TaskManager[] {
    return [...this.#queues.values()];
  }

  /** Accepts no more calls; resolves when all have ended. */
  async close(): Promise<void> {
    for (const queue of this.#queues.values()) queue.stop();
    await Promise.all([...this.#queues.values()].map((queue) => queue.join()));
  }

  #spacer(service: ServiceName): Spacer {
    const known = this.#spacers.get(service);
    if (known) return known;
    const { clock, requestsPerSecond: rate } = this.#options;
    const spacer = new Spacer(clock, rate !== undefined && rate > 0 ? 1_000 / rate : 0);
    this.#spacers.set(service, spacer);
    return spacer;
  }

  #queue(service: ServiceName, lane: Lane): TaskManager {
    const name = `${service} ${lane}`;
    const known = this.#queues.get(name);
    if (known) return known;
    const { clock, logger, random } = this.#options;
    const queue = new TaskManager(name, { clock, logger, random, maxParallel: LANES[lane].parallel });
    this.#queues.set(name, queue);
    return queue;
  }
}

interface Waiting {
  readonly begin: () => void;
}

/**
 * Keeps a minimum interval between calls to one service, by priority: a list does not wait behind two hundred deletions.
 */
class Spacer {
  readonly #clock: Clock;
  readonly #distanceMs: number;
  /** Queues by priority. */
  readonly #queues: Set<Waiting>[] = [];
  #nextMs = -Infinity;
  #cancel: CancelTimer | undefined;

  /** @param distanceMs - `0`: no interval */
  constructor(clock: Clock, distanceMs: number) {
    this.#clock = clock;
    this.#distanceMs = distanceMs;
  }

  /**
   * Resolves when a call may start; rejects with the signal's reason on abort.
   * @param priority - `0` is the highest
   */
  acquire(priority: number, signal: AbortSignal): Promise<void> {
    if (this.#distanceMs <= 0) return Promise.resolve();
    signal.throwIfAborted();
    const now = steadyNow(this.#clock);
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
    this.#cancel ??= this.#clock.setTimer(Math.max(0, this.#nextMs - steadyNow(this.#clock)), () => {
      this.#cancel = undefined;
      this.#serve();
    });
  }

  #serve(): void {
    for (const queue of this.#queues) {
      const [first] = queue ?? [];
      if (!first) continue;
      queue.delete(first);
      this.#nextMs = steadyNow(this.#clock) + this.#distanceMs;
      first.begin();
      break;
    }
    if (this.#queues.some((queue) => queue && queue.size > 0)) this.#schedule();
  }
}
