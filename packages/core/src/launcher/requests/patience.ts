import type { CancelTimer } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';

/** It is lost after this time or up to twice as long, so that not all who wait give way at the same moment. */
const PATIENCE_MS = 30_000;

/**
 * How long a request that waits for the rest of its nodes holds those it has in another's way. Requests that each hold a
 * part of what the other waits for would wait for ever: pools share a quota, and each of several launchers sees to its own
 * requests only (ADR 0015).
 */
export class Patience {
  readonly #services: Pick<Services, 'clock' | 'random'>;
  readonly #isInTheWay: () => boolean;
  readonly #onLost: () => void;
  #cancel: CancelTimer | undefined;
  #isLost = false;

  /**
   * @param isInTheWay - whether somebody may be waiting for what is held; asked again and again
   * @param onLost - called once it was
   */
  constructor(services: Pick<Services, 'clock' | 'random'>, isInTheWay: () => boolean, onLost: () => void) {
    this.#services = services;
    this.#isInTheWay = isInTheWay;
    this.#onLost = onLost;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The request waits from now on. */
  begin(): void {
    this.end();
    const { clock, random } = this.#services;
    this.#cancel = clock.setTimer(PATIENCE_MS * (1 + random()), () => {
      if (!this.#isInTheWay()) return this.begin();
      this.#isLost = true;
      this.#onLost();
    });
  }

  /** It got something, or waits no longer. */
  end(): void {
    this.#cancel?.();
    this.#isLost = false;
  }
}
