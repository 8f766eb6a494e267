import { VirtualClock } from '@nodepool/core/testing';

/** A virtual clock that runs from timer to timer by itself, as fast as everything between them can be done. */
export class PumpClock extends VirtualClock {
  #stopped = false;

  constructor() {
    super(1_700_000_000_000);
    this.#turn();
  }

  stop(): void {
    this.#stopped = true;
  }

  #turn(): void {
    if (this.#stopped) return;
    if (this.pendingTimers > 0) this.step(Infinity);
    // An immediate comes after all promise callbacks, however many follow from each other.
    setImmediate(() => this.#turn());
  }
}
