import { delay, steadyNow, type Clock } from '@nodepool/zk-protocol';

/**
 * A connection without a login costs its address a second with sshd of OpenSSH 9.8 and later (`PerSourcePenalties`); an address
 * that owes fifteen is refused, with everybody behind it. A few are left for other programs on this machine.
 */
const COST_MS = 1_000;
const MOST_MS = 10_000;
/** Servers that are remembered before those that owe nothing are dropped. */
const SWEEP_AT = 1_000;

/** Spreads the connections to each server, so that none of its limits for connections without a login is met. */
export class ConnectionPace {
  readonly #clock: Clock;
  /** When each server will have forgotten its connections, in steady milliseconds. */
  readonly #paidMs = new Map<string, number>();
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when so many connections may be made, and counts them. Rejects with the signal's reason. */
  async turn(host: string, port: number, connections: number, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.#owedMs(host, port) + connections * COST_MS - MOST_MS;
      if (waitMs <= 0) break;
      await delay(this.#clock, waitMs, signal);
    }
    this.count(host, port, connections);
  }

  /** Counts connections that do not wait for their turn; a negative number of those that were not made after all. */
  count(host: string, port: number, connections: number): void {
    const nowMs = steadyNow(this.#clock);
    this.#paidMs.set(`${host} ${port}`, nowMs + this.#owedMs(host, port) + connections * COST_MS);
    if (this.#paidMs.size < this.#sweepAt) return;
    for (const [server, paidMs] of this.#paidMs) if (paidMs <= nowMs) this.#paidMs.delete(server);
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#paidMs.size);
  }

  #owedMs(host: string, port: number): number {
    const nowMs = steadyNow(this.#clock);
    return Math.max(0, (this.#paidMs.get(`${host} ${port}`) ?? nowMs) - nowMs);
  }
}

const paces = new WeakMap<Clock, ConnectionPace>();

/** The pace of all scans of this process, whichever provider makes them: a server counts by address. */
export function sharedPace(clock: Clock): ConnectionPace {
  const known = paces.get(clock);
  if (known) return known;
  const pace = new ConnectionPace(clock);
  paces.set(clock, pace);
  return pace;
}
