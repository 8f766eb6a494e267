import { isZooKeeperError, LEASES_ROOT, type CancelTimer, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';

/** A comparison is good enough when its write took no longer. */
const EXACT_MS = 100;
const MORE_ATTEMPTS = 4;

/**
 * The time of the ZooKeeper server. Clocks of launchers differ, so a time that all of them must agree about is counted by this
 * one.
 */
export class ServerClock implements Clock {
  readonly #zk: Pick<ZooKeeper, 'setData' | 'whenConnected'>;
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(zk: Pick<ZooKeeper, 'setData' | 'whenConnected'>, clock: Clock) {
    this.#zk = zk;
    this.#clock = clock;
  }

  /** How far this process's clock is ahead of the server's. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  now(): number {
    return this.#clock.now() - this.#aheadMs;
  }

  steadyNow(): number {
    return this.#clock.steadyNow?.() ?? this.#clock.now();
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    return this.#clock.setTimer(ms, fn);
  }

  /**
   * Compares the clocks: the server notes the time of each write. A write that takes long shows little, so it is repeated.
   * @throws the reason of the signal
   */
  async measure(signal: AbortSignal): Promise<void> {
    let best = await this.#compare(signal);
    for (let more = MORE_ATTEMPTS; more > 0 && best.mostMs - best.leastMs > EXACT_MS; more--) {
      const next = await this.#compare(signal);
      if (next.mostMs - next.leastMs < best.mostMs - best.leastMs) best = next;
    }
    this.#aheadMs = Math.min(Math.max(0, best.leastMs), best.mostMs); // not at all, if that is possible
  }

  /** How far this clock is ahead: the write took place between its begin and its end. Repeated after a lost connection. */
  async #compare(signal: AbortSignal): Promise<{ leastMs: number; mostMs: number }> {
    for (;;) {
      await this.#zk.whenConnected(signal);
      const beganMs = this.#clock.now();
      try {
        const { mtime } = await this.#zk.setData(LEASES_ROOT, '');
        return { leastMs: beganMs - mtime, mostMs: this.#clock.now() - mtime };
      } catch (error) {
        if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED')) throw error;
      }
    }
  }
}
