import type { Clock, LauncherId, PoolComponentRecord, RequestId } from '@nodepool/zk-protocol';
import type { PoolView } from '../plan/types.js';
import { firstPoolFor } from '../steering/first-pool.js';
import { LONGEST_PAUSE_MS } from './first-pools.js';

/** What is asked about each pool of the launcher. */
export type WaitingPool = Pick<PoolView, 'idleNodes' | 'pool' | 'priority' | 'registered' | 'steering' | 'stopping'> & {
  readonly launcherId: LauncherId;
};

/**
 * New requests that need not be read at once, because each pool of this launcher would leave them to another one whatever
 * they ask for. Most of them are served and gone before they are read at last.
 */
export class UnreadRequests {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pools: () => readonly WaitingPool[];
  readonly #rivals = new WeakMap<WaitingPool, Rivals>();
  /** When they came, in this order. */
  readonly #sinceMs = new Map<RequestId, number>();

  /** @param pools - of this launcher */
  constructor(clock: Pick<Clock, 'now'>, pools: () => readonly WaitingPool[]) {
    this.#clock = clock;
    this.#pools = pools;
  }

  /** Whether a request that has just come can be left to others; from now on it waits for its first pool. */
  leave(id: RequestId): boolean {
    const pools = this.#pools();
    if (pools.length === 0 || !pools.every((pool) => this.#isOthersFirst(pool, id))) return false;
    this.#forgetOld();
    this.#sinceMs.set(id, this.#clock.now());
    return true;
  }

  /** When a request came that was left to others, as long as it may matter. */
  sinceMs(id: RequestId): number | undefined {
    return this.#sinceMs.get(id);
  }

  /** Ready nodes win, and a pool that fails or is slow has rules of its own: they look at what the request asks for. */
  #isOthersFirst(pool: WaitingPool, id: RequestId): boolean {
    if (pool.stopping) return true;
    if (!pool.steering?.isWell || pool.steering.isSlow) return false;
    for (const node of pool.idleNodes()) return node.state !== 'ready';
    const { isOutranked, equals } = this.#rivalsOf(pool);
    return isOutranked || (equals.length > 1 && firstPoolFor(id, equals)?.launcherId !== pool.launcherId);
  }

  #rivalsOf(pool: WaitingPool): Rivals {
    const known = this.#rivals.get(pool);
    if (known?.registered === pool.registered && known.config === pool.pool) return known;
    const rivals = findRivals(pool);
    this.#rivals.set(pool, rivals);
    return rivals;
  }

  #forgetOld(): void {
    const untilMs = this.#clock.now() - LONGEST_PAUSE_MS;
    for (const [id, sinceMs] of this.#sinceMs) {
      if (sinceMs > untilMs) break;
      this.#sinceMs.delete(id);
    }
  }
}

/** Pools that could serve all that a pool could serve. */
interface Rivals {
  /** What was looked at. */
  readonly registered: readonly PoolComponentRecord[];
  readonly config: WaitingPool['pool'];
  /** One of them has a better priority. */
  readonly isOutranked: boolean;
  /** Those of the same priority that know of first pools, and the pool itself. */
  readonly equals: readonly Pick<PoolComponentRecord, 'launcherId'>[];
}

function findRivals({ launcherId, pool, priority, registered }: WaitingPool): Rivals {
  const labels = [...pool.labels.keys()];
  const rivals = registered.filter(
    (other) =>
      other.launcherId !== launcherId &&
      !other.paused &&
      labels.every((label) => other.supportedLabels.includes(label)),
  );
  const equals = rivals.filter((other) => other.priority === priority && Boolean(other.firstPoolPauseMs));
  return {
    ...{ registered, config: pool },
    isOutranked: labels.length > 0 && rivals.some((other) => other.priority < priority),
    equals: [{ launcherId }, ...equals],
  };
}
