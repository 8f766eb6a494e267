import { steadyNow, type Clock } from '../../base/clock.js';
import { NamedTimers } from './named-timers.js';

/** What a {@link Pulse} does to its connection. */
export interface PulsePort {
  sendPing(): void;
  /** Nothing was heard for so long that the connection must be dead. */
  silent(): void;
}

/** Pings of a connection: they show both sides that the other one is alive. */
export class Pulse {
  readonly #clock: Clock;
  readonly #timers: NamedTimers<'ping' | 'silence'>;
  readonly #timeoutMs: number;
  readonly #port: PulsePort;
  #confirmedAtMs = 0;
  #heardAtMs = 0;

  /** @param timeoutMs - of the session */
  constructor(clock: Clock, timeoutMs: number, port: PulsePort) {
    this.#clock = clock;
    this.#timers = new NamedTimers(clock);
    this.#timeoutMs = timeoutMs;
    this.#port = port;
  }

  /** Milliseconds for which the server keeps the session if it hears nothing more. */
  get remainingMs(): number {
    return this.#confirmedAtMs + this.#timeoutMs - steadyNow(this.#clock);
  }

  /** The connection is there: begins to send pings. */
  start(): void {
    this.#confirmedAtMs = steadyNow(this.#clock);
    this.#heardAtMs = this.#confirmedAtMs;
    const ping = () => {
      this.#port.sendPing();
      this.#timers.set('ping', this.#timeoutMs / 4, ping);
    };
    this.#timers.set('ping', this.#timeoutMs / 4, ping);
    this.#watchSilence(this.#timeoutMs / 2);
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  /** Something came from the server. */
  heard(): void {
    this.#heardAtMs = steadyNow(this.#clock);
  }

  /** A ping that was sent at that time was answered. */
  confirmed(sentAtMs: number): void {
    this.#confirmedAtMs = sentAtMs;
  }

  #watchSilence(waitMs: number): void {
    const limitMs = Math.floor((this.#timeoutMs * 2) / 3); // a clock may count whole ones
    this.#timers.set('silence', waitMs, () => {
      const silentMs = steadyNow(this.#clock) - this.#heardAtMs;
      if (silentMs >= limitMs) this.#port.silent();
      else this.#watchSilence(limitMs - silentMs);
    });
  }
}
