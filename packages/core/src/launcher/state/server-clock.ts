import {
  delay,
  isZooKeeperError,
  AGREED_TIME_PATH,
  steadyNow,
  type CancelTimer,
  type Clock,
  type NodeRecord,
  type RequestRecord,
  type Stat,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { aheadAt, decodeAgreedTime, encodeAgreedTime, termOf, type AgreedTime } from './agreed-time.js';

/** A comparison is good enough when its write took no longer. */
const EXACT_MS = 100;
const MORE_ATTEMPTS = 4;
/** Share of the time since the last comparison by which this clock follows the agreed time. */
const FOLLOWED = 1 / 60;
/** Clocks that have moved by the same are no further apart than this. */
const SAME_MS = 2_000;
/** How long a launcher that starts waits for another to say how the time continues under a new leader. */
const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 250;

/** What a comparison has shown: how far steady time was ahead of the server's, at least and at most, and when that was. */
interface Comparison {
  readonly leastMs: number;
  readonly mostMs: number;
  readonly steadyMs: number;
  /** How far steady time is ahead of this process's clock. */
  readonly wallMs: number;
  /** Time of the write by the clock of the server. */
  readonly serverMs: number;
  readonly term: number;
  /** What was stored there, and is still. */
  readonly agreed: AgreedTime | undefined;
  /** Of the record. */
  readonly version: number;
}

/**
 * The time of the ZooKeeper server. Clocks of launchers differ, so a time that all of them must agree about is counted by this
 * one: the time of a write, plus steady time since, so that it does not jump when the clock of this process is set. Nor when another
 * server with another clock becomes the leader: the first launcher that notices it stores how far its time is ahead of that clock, and
 * all count by that.
 */
export class ServerClock implements Clock {
  readonly #zk: Pick<ZooKeeper, 'getData' | 'setData' | 'whenConnected'>;
  readonly #clock: Clock;
  /** How far steady time is ahead of this one, and what showed it; `undefined` before the first comparison. */
  #known: { readonly aheadMs: number; readonly serverAheadMs: number; readonly by: Comparison } | undefined;
  /** How far this time was ahead of the clock of each leader that this process has seen, by term. */
  readonly #terms = new Map<number, number>();
  /** When the clocks were first compared, by this time. */
  #firstMs = 0;

  constructor(zk: Pick<ZooKeeper, 'getData' | 'setData' | 'whenConnected'>, clock: Clock) {
    this.#zk = zk;
    this.#clock = clock;
  }

  now(): number {
    return this.#known ? this.steadyNow() - this.#known.aheadMs : this.#clock.now();
  }

  steadyNow(): number {
    return steadyNow(this.#clock);
  }

  /**
   * When a write was made, by this time. One under a leader that led before this process started is as old as this process; the clock
   * of that leader is not known.
   */
  writtenMs({ mzxid, mtime }: Pick<Stat, 'mzxid' | 'mtime'>): number {
    if (!this.#known) return mtime;
    const term = termOf(mzxid);
    const aheadMs = this.#terms.get(term);
    if (aheadMs !== undefined) return mtime + aheadMs;
    return term < this.#known.by.term ? this.#firstMs : this.now();
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    return this.#clock.setTimer(ms, fn);
  }

  /**
   * Compares the clocks: the server notes the time of each write. A write that takes long shows little, so it is repeated.
   * @throws the reason of the signal
   */
  async measure(signal: AbortSignal): Promise<void> {
    const patientUntilMs = this.steadyNow() + PATIENCE_MS;
    for (;;) {
      const best = await this.#best(signal);
      const { agreed, term, serverMs } = best;
      if (agreed?.term === term) return this.#follow(best, aheadAt(agreed, serverMs));
      if (!this.#known && agreed && this.steadyNow() < patientUntilMs) {
        await delay(this.#clock, LOOK_AGAIN_MS, signal);
        continue;
      }
      const aheadMs = this.#continued(best);
      if (await this.#store({ aheadMs, sinceMs: serverMs, term }, best, signal)) return this.#follow(best, aheadMs);
    }
  }

  #follow(by: Comparison, serverAheadMs: number): void {
    const isFirst = this.#known === undefined;
    this.#known = { aheadMs: this.#judge(by, serverAheadMs), serverAheadMs, by };
    this.#terms.set(by.term, serverAheadMs);
    if (isFirst) this.#firstMs = this.now();
  }

  /** How far the agreed time, which this one may still follow, is ahead of the clock of a new leader: it continues without a jump. */
  #continued(next: Comparison): number {
    const known = this.#known;
    if (!known) return 0;
    const agreedMs = within(known.aheadMs, known.by, known.serverAheadMs);
    const shiftMs = shiftOf(agreedMs, next, known.serverAheadMs);
    return known.serverAheadMs + (this.#isShared(shiftMs, next) || Math.abs(shiftMs) <= SAME_MS ? 0 : shiftMs);
  }

  /** @param serverAheadMs - how far the agreed time is ahead of the server's */
  #judge(next: Comparison, serverAheadMs: number): number {
    const known = this.#known;
    if (!known) return within(next.wallMs, next, serverAheadMs); // that of this process, if that is possible
    const shiftMs = shiftOf(known.aheadMs, next, serverAheadMs);
    if (this.#isShared(shiftMs, next)) return known.aheadMs + shiftMs;
    const mostMs = (next.steadyMs - known.by.steadyMs) * FOLLOWED;
    return known.aheadMs + Math.min(Math.max(-mostMs, shiftMs), mostMs);
  }

  /** Whether the clock of this process has moved as well against steady time, which stands still while a computer sleeps. */
  #isShared(shiftMs: number, { wallMs }: Comparison): boolean {
    return Math.abs(shiftMs - (wallMs - (this.#known?.by.wallMs ?? wallMs))) <= SAME_MS;
  }

  async #best(signal: AbortSignal): Promise<Comparison> {
    let best = await this.#compare(signal);
    for (let more = MORE_ATTEMPTS; more > 0 && best.mostMs - best.leastMs > EXACT_MS; more--) {
      const next = await this.#compare(signal);
      const isBetter = next.term !== best.term || next.mostMs - next.leastMs < best.mostMs - best.leastMs;
      best = isBetter ? next : { ...best, agreed: next.agreed, version: next.version };
    }
    return best;
  }

  /** How far steady time is ahead: the write took place between its begin and its end. */
  #compare(signal: AbortSignal): Promise<Comparison> {
    return this.#repeat(signal, async () => {
      const { data, stat } = await this.#zk.getData(AGREED_TIME_PATH);
      const beganMs = this.steadyNow();
      const { mtime, mzxid, version } = await this.#zk.setData(AGREED_TIME_PATH, data, stat.version);
      const steadyMs = this.steadyNow();
      return {
        ...{ leastMs: beganMs - mtime, mostMs: steadyMs - mtime, steadyMs, wallMs: steadyMs - this.#clock.now() },
        ...{ serverMs: mtime, term: termOf(mzxid), agreed: decodeAgreedTime(data), version },
      };
    });
  }

  /** @returns false if another launcher has written meanwhile */
  async #store(agreed: AgreedTime, { version }: Comparison, signal: AbortSignal): Promise<boolean> {
    await this.#zk.whenConnected(signal);
    try {
      await this.#zk.setData(AGREED_TIME_PATH, encodeAgreedTime(agreed), version);
      return true;
    } catch (error) {
      if (!isPassing(error)) throw error;
      return false;
    }
  }

  /** Repeats a comparison after a lost connection, and when another launcher compares at the same time. */
  async #repeat<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.#zk.whenConnected(signal);
      try {
        return await act();
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
    }
  }
}

/** The time of the server; without `writtenMs`, all writes were made by it. */
export type ServerTime = Pick<Clock, 'now'> & Partial<Pick<ServerClock, 'writtenMs'>>;

/** How long a record has been as it is, whatever the clock of its writer says. */
export function sinceWrittenMs({ stat, stateTimeMs }: NodeRecord | RequestRecord, serverTime: ServerTime): number {
  const writtenMs = stat ? (serverTime.writtenMs?.(stat) ?? stat.mtime) : stateTimeMs;
  return serverTime.now() - writtenMs;
}

/** When a record was made, by that time. */
export function madeMs({ czxid, ctime }: Pick<Stat, 'czxid' | 'ctime'>, serverTime: ServerTime): number {
  return serverTime.writtenMs?.({ mzxid: czxid, mtime: ctime }) ?? ctime;
}

const isPassing = (error: unknown): boolean =>
  isZooKeeperError(error, 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_BAD_VERSION');

/** How far a comparison differs from what was known. */
function shiftOf(knownMs: number, next: Comparison, serverAheadMs: number): number {
  return within(knownMs, next, serverAheadMs) - knownMs;
}

function within(ms: number, { leastMs, mostMs }: Comparison, serverAheadMs: number): number {
  return Math.min(Math.max(ms, leastMs - serverAheadMs), mostMs - serverAheadMs);
}
