import { type CancelTimer, type Clock, PAUSE_MS, setPatientTimer, steadyNow } from '../base/clock.js';

/**
 * Checks a connection: sends a ping each quarter of the session timeout, and reports the connection as dead when no data
 * arrived for two thirds of it.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #sendPing: () => void;
  readonly #onDead: (silentMs: number) => void;
  #timeoutMs = 0;
  #heardAtMs = 0;
  /** After a pause of this process the server gets extra time to reply; here the last data for which it did. */
  #excusedMs = NaN;
  #confirmedAtMs = 0;
  /** Send times of unanswered pings, oldest first. */
  #pings: number[] = [];
  #cancelPing: CancelTimer = () => {};
  #cancelRead: CancelTimer = () => {};

  constructor(clock: Clock, sendPing: () => void, onDead: (silentMs: number) => void) {
    this.#clock = clock;
    this.#sendPing = sendPing;
    this.#onDead = onDead;
  }

  /** Steady time of the latest ping that the server has answered. */
  get confirmedAtMs(): number {
    return this.#confirmedAtMs;
  }

  start(sessionTimeoutMs: number, confirmedAtMs: number): void {
    this.stop();
    this.#timeoutMs = sessionTimeoutMs;
    this.#confirmedAtMs = confirmedAtMs;
    this.#heardAtMs = steadyNow(this.#clock);
    this.#schedulePing();
    this.#scheduleRead(this.#readTimeoutMs);
  }

  stop(): void {
    this.#pings = [];
    this.#cancelPing();
    this.#cancelRead();
  }

  /** Called for all received data. */
  heard(): void {
    this.#heardAtMs = steadyNow(this.#clock);
  }

  pingAnswered(): void {
    const sentAtMs = this.#pings.shift();
    if (sentAtMs !== undefined) this.#confirmedAtMs = sentAtMs;
  }

  get #readTimeoutMs(): number {
    return Math.floor((this.#timeoutMs * 2) / 3);
  }

  #schedulePing(): void {
    this.#cancelPing = this.#clock.setTimer(Math.max(1, Math.floor(this.#timeoutMs / 4)), () => {
      this.#pings.push(steadyNow(this.#clock));
      this.#schedulePing();
      this.#sendPing();
    });
  }

  #scheduleRead(waitMs: number): void {
    this.#cancelRead = setPatientTimer(this.#clock, waitMs, (lateMs) => {
      const silentMs = steadyNow(this.#clock) - this.#heardAtMs;
      if (silentMs < this.#readTimeoutMs) {
        this.#scheduleRead(this.#readTimeoutMs - Math.max(0, silentMs));
      } else if (lateMs >= PAUSE_MS && this.#excusedMs !== this.#heardAtMs) {
        this.#excusedMs = this.#heardAtMs;
        this.#scheduleRead(Math.ceil(this.#readTimeoutMs / 2));
      } else {
        this.#onDead(silentMs);
      }
    });
  }
}
