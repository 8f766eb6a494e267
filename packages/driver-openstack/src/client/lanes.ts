import type { Clock } from '@nodepool/zk-protocol';
import { TaskManager, type Logger } from '@nodepool/core';
import type { ServiceName } from './clouds/types.js';
import { Spacer } from './spacer.js';

/** What calls are kept apart by: none of these waits for another to end. */
export type Lane = 'list' | 'read' | 'create' | 'change' | 'delete' | 'upload';

/** How fast calls may be made. */
export interface LanesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls per second to each service, whatever the lane; `undefined`: no limit but what the cloud asks for. */
  readonly requestsPerSecond: number | undefined;
  /** Number in [0, 1). */
  readonly random: () => number;
}

/** Calls of a lane at the same time; and who goes first when calls are spaced. */
const LANES: Readonly<Record<Lane, { readonly parallel: number; readonly priority: number }>> = {
  list: { parallel: 6, priority: 0 },
  read: { parallel: 10, priority: 1 },
  create: { parallel: 50, priority: 2 },
  change: { parallel: 20, priority: 2 },
  upload: { parallel: 10, priority: 3 },
  delete: { parallel: 30, priority: 3 },
};

/**
 * Queues of calls, one for each service and lane. When a service asks one of them to slow down, with `Retry-After` or
 * without, the others continue. All lanes of a service together keep to the rate.
 */
export class Lanes {
  readonly #options: LanesOptions;
  readonly #spacers = new Map<ServiceName, Spacer>();
  readonly #queues = new Map<string, TaskManager>();

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Makes a call when its turn comes. A call the cloud refused for being one too many is repeated. */
  run<T>(
    service: ServiceName,
    lane: Lane,
    call: string,
    fn: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const spacer = this.#spacer(service);
    const spaced = async (own: AbortSignal): Promise<T> => {
      await spacer.acquire(LANES[lane].priority, own);
      return fn(own);
    };
    return this.#queue(service, lane).call(call, spaced, { signal });
  }

  /** Takes nothing new; resolves when everything has ended. */
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
