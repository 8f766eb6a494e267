import { type CancelTimer, type Clock, steadyNow } from '../base/clock.js';

/**
 * Keeps a connection honest: a ping each quarter of the session timeout whatever else is going on, and a verdict of
 * "dead" when nothing arrived for two thirds of it.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #sendPing: () => void;
  readonly #onDead: (silentMs: number) => void;
  #timeoutMs = 0;
  #heardAtMs = 0;
  #confirmedAtMs = 0;
  /** Send times of pings without answer, oldest first. */
  #pings: number[] = [];
  #cancelPing: CancelTimer = () => {};
  #cancelRead: CancelTimer = () => {};
  #generation = 0;

  constructor(clock: Clock, sendPing: () => void, onDead: (silentMs: number) => void) {
    this.#clock = clock;
    this.#sendPing = sendPing;
    this.#onDead = onDead;
  }

  /** Time of the latest sign of life of ours that the server is known to have seen. */
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
    this.#generation += 1;
    this.#pings = [];
    this.#cancelPing();
    this.#cancelRead();
  }

  /** Something arrived. */
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
    this.#cancelRead = this.#clock.setTimer(waitMs, () => {
      const generation = this.#generation;
      // After a stalled event loop timers run before the data that has long arrived: let that be read first.
      setImmediate(() => {
        if (generation !== this.#generation) return;
        const silentMs = steadyNow(this.#clock) - this.#heardAtMs;
        if (silentMs >= this.#readTimeoutMs) this.#onDead(silentMs);
        else this.#scheduleRead(Math.max(1, this.#readTimeoutMs - Math.max(0, silentMs)));
      });
    });
  }
}
