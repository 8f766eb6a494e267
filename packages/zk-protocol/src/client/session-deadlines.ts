import { type CancelTimer, type Clock, setDeadline } from '../base/clock.js';

/** After a pause of this process a server has so much time to confirm the session. */
export const LAST_CHANCE_MS = 5_000;

/** Until when a session without a connection lives, and until when requests wait for the first session. */
export class SessionDeadlines {
  readonly #clock: Clock;
  #cancelExpiry: CancelTimer | undefined;
  #cancelWait: CancelTimer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` when the session must be over, unless {@link SessionDeadlines.cancel} comes first. */
  expireIn(ms: number, expire: () => void): void {
    this.#cancelExpiry = setDeadline(this.#clock, ms, LAST_CHANCE_MS, expire);
  }

  /** Without a session nothing expires: limits how long requests wait for the first one. */
  limitWait(ms: number, giveUp: () => void): void {
    if (this.#cancelExpiry !== undefined || this.#cancelWait !== undefined) return;
    this.#cancelWait = setDeadline(this.#clock, ms, LAST_CHANCE_MS, () => {
      this.#cancelWait = undefined;
      giveUp();
    });
  }

  cancel(): void {
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}
