import { delay, orAbort, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';

/** How often an order that waits looks whether the session is alive. */
const LOOK_MS = 200;

/**
 * The orders that launches are giving to clouds. A launcher that leaves its work to others lets them end first: its successor does
 * not see an order that the cloud has yet to carry out, and would give another for the same node. For the same reason none begins
 * while the session may have ended unnoticed: after the process stood still, another launcher may have the node already.
 */
export class CloudOrders {
  readonly #given = new Set<Promise<unknown>>();
  readonly #zk: Pick<ZooKeeper, 'sessionLeftMs'>;
  readonly #clock: Clock;
  #isOver = false;

  constructor(zk: Pick<ZooKeeper, 'sessionLeftMs'>, clock: Clock) {
    this.#zk = zk;
    this.#clock = clock;
  }

  /**
   * Gives an order, as soon as the session is known to be alive. Once {@link end} was called, none begins: the promise waits for the
   * abort.
   */
  readonly give = async <T>(order: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    while (!this.#isOver && this.#zk.sessionLeftMs <= 0) await delay(this.#clock, LOOK_MS, signal);
    if (this.#isOver) return orAbort(new Promise<never>(() => undefined), signal);
    const given = order();
    this.#given.add(given);
    return given.finally(() => this.#given.delete(given));
  };

  /** Begins no more orders. Resolves when all that were begun have ended. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled([...this.#given]);
  }
}
