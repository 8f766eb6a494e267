import { orAbort } from '@nodepool/zk-protocol';

/**
 * The orders that launches are giving to clouds. A launcher that leaves its work to others lets them end first: its successor does
 * not see an order that the cloud has yet to carry out, and would give another for the same node.
 */
export class CloudOrders {
  readonly #given = new Set<Promise<unknown>>();
  #isOver = false;

  /** Gives an order. Once {@link end} was called, none begins: the promise waits for the abort. */
  readonly give = <T>(order: () => Promise<T>, signal: AbortSignal): Promise<T> => {
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
