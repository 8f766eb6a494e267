import type { CancelTimer, Clock } from '../base/clock.js';

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
    this.#cancelExpiry = this.#setPatientTimer(ms, expire);
  }

  /** Without a session nothing expires: limits how long requests wait for the first one. */
  limitWait(ms: number, giveUp: () => void): void {
    if (this.#cancelExpiry !== undefined || this.#cancelWait !== undefined) return;
    this.#cancelWait = this.#setPatientTimer(ms, () => {
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

  /** After a stalled event loop timers run before data that has long arrived: this one lets it be read first. */
  #setPatientTimer(ms: number, act: () => void): CancelTimer {
    let isCancelled = false;
    const cancelTimer = this.#clock.setTimer(ms, () => {
      setImmediate(() => {
        if (!isCancelled) act();
      });
    });
    return () => {
      isCancelled = true;
      cancelTimer();
    };
  }
}
