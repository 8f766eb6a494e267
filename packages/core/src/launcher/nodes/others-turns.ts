import type { CancelTimer, Clock, NodeId } from '@nodepool/zk-protocol';
import { FIRST_POOL_PAUSE_MS } from '../steering/first-pool.js';

/** Nodes that are left for a moment to the launcher that is to deal with them first, should it be there. */
export class OthersTurns {
  readonly #clock: Clock;
  readonly #lookAgain: (id: NodeId) => void;
  /** Those whose moment has passed have no timer. */
  readonly #turns = new Map<NodeId, CancelTimer | undefined>();

  /** @param lookAgain - the moment has passed */
  constructor(clock: Clock, lookAgain: (id: NodeId) => void) {
    this.#clock = clock;
    this.#lookAgain = lookAgain;
  }

  /** The node is still to be left to the other; its moment begins when this is asked for the first time. */
  isOn(id: NodeId): boolean {
    if (this.#turns.has(id)) return this.#turns.get(id) !== undefined;
    const over = () => {
      this.#turns.set(id, undefined);
      this.#lookAgain(id);
    };
    this.#turns.set(id, this.#clock.setTimer(FIRST_POOL_PAUSE_MS, over));
    return true;
  }

  /** There is nothing to do with the node; should there be again, the other has another moment. */
  forget(id: NodeId): void {
    this.#turns.get(id)?.();
    this.#turns.delete(id);
  }

  stop(): void {
    for (const cancel of this.#turns.values()) cancel?.();
    this.#turns.clear();
  }
}
