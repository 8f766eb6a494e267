import type { CancelTimer } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';

/** A request gives way after this time or up to twice as long, so that not all that wait give way at the same moment. */
const YIELD_MS = 30_000;

/**
 * How long a request that waits for the rest of its nodes may hold those it has while another request may need them.
 * Requests that each hold a part of what the other waits for would wait indefinitely: pools share a quota, and each of
 * several launchers sees to its own requests only (ADR 0015).
 */
export class YieldTimer {
  readonly #services: Pick<Services, 'clock' | 'random'>;
  readonly #isInTheWay: () => boolean;
  readonly #onDue: () => void;
  #cancel: CancelTimer | undefined;
  #isDue = false;

  /**
   * @param isInTheWay - whether another request may be waiting for what is held; asked again and again
   * @param onDue - called once it was
   */
  constructor(services: Pick<Services, 'clock' | 'random'>, isInTheWay: () => boolean, onDue: () => void) {
    this.#services = services;
    this.#isInTheWay = isInTheWay;
    this.#onDue = onDue;
  }

  /** The request is to give way. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** The request waits from now on. */
  begin(): void {
    this.end();
    const { clock, random } = this.#services;
    this.#cancel = clock.setTimer(YIELD_MS * (1 + random()), () => {
      if (!this.#isInTheWay()) return this.begin();
      this.#isDue = true;
      this.#onDue();
    });
  }

  /** The request got something, or waits no longer. */
  end(): void {
    this.#cancel?.();
    this.#isDue = false;
  }
}
