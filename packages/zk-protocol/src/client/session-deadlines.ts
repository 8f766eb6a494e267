import { type CancelTimer, type Clock, setDeadline } from '../base/clock.js';

/** After a pause of this process a server has this long to confirm the session. */
export const LAST_CHANCE_MS = 5_000;

/** Deadlines of a disconnected session, and of requests that wait for the first session. */
export class SessionDeadlines {
  readonly #clock: Clock;
  #cancelExpiry: CancelTimer | undefined;
  #cancelWait: CancelTimer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` when the session must have ended, unless cancelled before. */
  expireIn(ms: number, expire: () => void): void {
    this.#cancelExpiry = setDeadline(this.#clock, ms, LAST_CHANCE_MS, expire);
  }

  /** Limits how long requests wait for the first session; without a session nothing expires. */
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
