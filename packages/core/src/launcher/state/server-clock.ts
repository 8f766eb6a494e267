import { isZooKeeperError, LEASES_ROOT, type CancelTimer, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';

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
   * Compares the clocks: the server notes the time of each write. Repeats it after a lost connection.
   * @throws the reason of the signal
   */
  async measure(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#zk.whenConnected(signal);
      const beganMs = this.#clock.now();
      try {
        const { mtime } = await this.#zk.setData(LEASES_ROOT, '');
        // The write took place between its begin and its end: clocks may agree as far as that shows.
        const [leastMs, mostMs] = [beganMs - mtime, this.#clock.now() - mtime];
        this.#aheadMs = Math.min(Math.max(0, leastMs), mostMs);
        return;
      } catch (error) {
        if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED')) throw error;
      }
    }
  }
}
