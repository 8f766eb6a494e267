import { orAbort } from '@nodepool/zk-protocol';
import type { PoolView } from '../plan/types.js';
import type { Context } from '../state/context.js';

/** A pool of a provider, as far as it limits launches. */
type LimitedPool = Pick<PoolView, 'provider' | 'maxConcurrency' | 'activeLaunches'>;

/** A launch that waits. */
interface Turn {
  readonly pool: LimitedPool;
  readonly begin: () => void;
  readonly refuse: (why: NoTurnError) => void;
}

/** Launches of the provider may not begin any more. */
export class NoTurnError extends Error {
  constructor(provider: string) {
    super(`provider "${provider}" begins no launches: its max-concurrency is 0`);
    this.name = 'NoTurnError';
  }
}

/**
 * Lets launches of nodes that exist already run within `max-concurrency`, one after another. They count as launches in progress from the
 * decision on, so that no new ones begin before them.
 */
export class LaunchTurns {
  /** By provider. */
  readonly #waiting = new Map<string, Turn[]>();
  readonly #unsubscribe: readonly (() => void)[];

  /** Construct it after the ledger, which counts the launches. */
  constructor({ events }: Pick<Context, 'events'>) {
    this.#unsubscribe = [
      events.on('launchEnded', ({ launch }) => this.#next(launch.provider)),
      events.on('planDue', ({ pool }) => this.#next(pool.provider)), // the limit may have been raised
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /**
   * Resolves when a launch that is counted already may run.
   * @throws {NoTurnError} none may, as a reload has set `max-concurrency` to 0; otherwise the reason of the signal
   */
  async take(pool: LimitedPool, signal: AbortSignal): Promise<void> {
    const { provider } = pool;
    const queue = this.#waiting.get(provider) ?? [];
    this.#waiting.set(provider, queue);
    let turn: Turn | undefined;
    const begun = new Promise<void>((begin, refuse) => queue.push((turn = { pool, begin, refuse })));
    this.#next(provider);
    try {
      await orAbort(begun, signal);
    } finally {
      const at = turn ? queue.indexOf(turn) : -1;
      if (at >= 0) queue.splice(at, 1);
    }
  }

  #next(provider: string): void {
    const queue = this.#waiting.get(provider) ?? [];
    for (const { pool, refuse } of queue) if (pool.maxConcurrency === 0) refuse(new NoTurnError(provider));
    for (let turn = queue[0]; turn && hasRoom(turn.pool, queue.length); turn = queue[0]) {
      queue.shift();
      turn.begin();
    }
  }
}

function hasRoom({ maxConcurrency, activeLaunches }: LimitedPool, waiting: number): boolean {
  return maxConcurrency < 0 || activeLaunches - waiting < maxConcurrency;
}
