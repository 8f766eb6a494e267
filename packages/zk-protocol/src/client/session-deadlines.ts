import { type CancelTimer, type Clock, PAUSE_MS, setPatientTimer } from '../base/clock.js';

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
    this.#cancelExpiry = this.#setTimer(ms, expire);
  }

  /** Without a session nothing expires: limits how long requests wait for the first one. */
  limitWait(ms: number, giveUp: () => void): void {
    if (this.#cancelExpiry !== undefined || this.#cancelWait !== undefined) return;
    this.#cancelWait = this.#setTimer(ms, () => {
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

  /** After a pause of this process there was no chance to hear from a server: allows for one more attempt. */
  #setTimer(ms: number, act: () => void): CancelTimer {
    let cancel = setPatientTimer(this.#clock, ms, (lateMs) => {
      if (lateMs < PAUSE_MS) act();
      else cancel = setPatientTimer(this.#clock, LAST_CHANCE_MS, act);
    });
    return () => cancel();
  }
}
