import {
  isZooKeeperError,
  LEASES_ROOT,
  steadyNow,
  type CancelTimer,
  type Clock,
  type NodeRecord,
  type RequestRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';

/** A comparison is good enough when its write took no longer. */
const EXACT_MS = 100;
const MORE_ATTEMPTS = 4;
/** Share of the time since the last comparison by which this clock follows a clock of the server that was set. */
const FOLLOWED = 1 / 60;
/** Clocks that have moved by the same are no further apart than this. */
const SAME_MS = 2_000;

/** What a comparison has shown: how far steady time was ahead, at least and at most, and when that was. */
interface Comparison {
  readonly leastMs: number;
  readonly mostMs: number;
  readonly steadyMs: number;
  /** How far steady time is ahead of this process's clock. */
  readonly wallMs: number;
}

/**
 * The time of the ZooKeeper server. Clocks of launchers differ, so a time that all of them must agree about is counted by this
 * one: the time of a write, plus steady time since, so that it does not jump when the clock of this process is set. Nor when the clock
 * of the server is, or another server with another clock becomes the leader: it follows slowly then.
 */
export class ServerClock implements Clock {
  readonly #zk: Pick<ZooKeeper, 'setData' | 'whenConnected'>;
  readonly #clock: Clock;
  /** How far steady time is ahead of the server's, and what showed it; `undefined` before the first comparison. */
  #known: { readonly aheadMs: number; readonly by: Comparison } | undefined;

  constructor(zk: Pick<ZooKeeper, 'setData' | 'whenConnected'>, clock: Clock) {
    this.#zk = zk;
    this.#clock = clock;
  }

  now(): number {
    return this.#known ? this.steadyNow() - this.#known.aheadMs : this.#clock.now();
  }

  steadyNow(): number {
    return steadyNow(this.#clock);
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
    this.#known = { aheadMs: this.#judge(best), by: best };
  }

  #judge(next: Comparison): number {
    const known = this.#known;
    if (!known) return within(next.wallMs, next); // that of this process, if that is possible
    const shiftMs = within(known.aheadMs, next) - known.aheadMs;
    const wallShiftMs = next.wallMs - known.by.wallMs;
    // both clocks have moved against steady time, which stands still while a computer sleeps
    if (Math.abs(shiftMs - wallShiftMs) <= SAME_MS) return known.aheadMs + shiftMs;
    const mostMs = (next.steadyMs - known.by.steadyMs) * FOLLOWED;
    return known.aheadMs + Math.min(Math.max(-mostMs, shiftMs), mostMs);
  }

  /** How far steady time is ahead: the write took place between its begin and its end. Repeated after a lost connection. */
  async #compare(signal: AbortSignal): Promise<Comparison> {
    for (;;) {
      await this.#zk.whenConnected(signal);
      const beganMs = this.steadyNow();
      try {
        const { mtime } = await this.#zk.setData(LEASES_ROOT, '');
        const steadyMs = this.steadyNow();
        const wallMs = steadyMs - this.#clock.now();
        return { leastMs: beganMs - mtime, mostMs: steadyMs - mtime, steadyMs, wallMs };
      } catch (error) {
        if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED')) throw error;
      }
    }
  }
}

/** How long a record has been as it is, whatever the clock of its writer says. */
export function sinceWrittenMs(record: NodeRecord | RequestRecord, serverClock: Pick<Clock, 'now'>): number {
  return serverClock.now() - (record.stat?.mtime ?? record.stateTimeMs);
}

function within(ms: number, { leastMs, mostMs }: Pick<Comparison, 'leastMs' | 'mostMs'>): number {
  return Math.min(Math.max(ms, leastMs), mostMs);
}
