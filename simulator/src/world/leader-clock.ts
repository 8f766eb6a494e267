import { AGREED_TIME_PATH, type CancelTimer, type Clock, type JsonObject } from '@nodepool/zk-protocol';
import type { VirtualClock } from '@nodepool/core/testing';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';

/** Transactions of a term. */
const TERM = 2 ** 32;

/** How wrong the time may be by which launchers count: they learn it from writes, which take time. */
const INEXACT_MS = 2_500;

/**
 * Clock of the member of the ensemble that leads: it stamps transactions. Sessions count by steady time. Launchers that run
 * while another member becomes the leader must count on as before.
 */
export class LeaderClock implements Clock {
  /** No launcher that knew the time has told it to the launchers of this term. */
  onLost: () => void = () => {};
  onViolation: (violation: string) => void = () => {};
  readonly #world: VirtualClock;
  #aheadMs = 0;
  /** Those that said how the time continues, by term. */
  readonly #told = new Set<number>();
  /** How wrong launchers count, since none that knew the time was there. */
  #lostMs = 0;
  #isKeeper: (who: string) => boolean = () => true;

  constructor(world: VirtualClock) {
    this.#world = world;
  }

  /**
   * Another member leads.
   * @param aheadMs - how far its clock is wrong
   * @param isKeeper - tells launchers that knew the time before
   */
  change(aheadMs: number, isKeeper: (who: string) => boolean): void {
    this.#aheadMs = aheadMs;
    this.#isKeeper = isKeeper;
  }

  /**
   * Another database is served, which does not say how its time continues. Terms may repeat.
   * @returns whether the clock of the leader is wrong: then it begins a term, as a member of an ensemble does
   */
  databaseReplaced(): boolean {
    this.#told.clear();
    this.#isKeeper = () => false;
    return this.#aheadMs !== 0;
  }

  /** What a launcher says about the time. */
  told(who: string, { changes, zxid }: Parameters<TransactionListener>[0]): void {
    const present = Math.floor(zxid / TERM);
    for (const change of changes) {
      if (change.change !== 'setData' || change.path !== AGREED_TIME_PATH || !change.data?.length) continue;
      const { ahead, term } = JSON.parse(change.data.toString()) as JsonObject;
      // a comparison of clocks writes what a former term or an older copy had
      if (term !== present || this.#told.has(present)) continue;
      this.#told.add(present);
      const wrongMs = Math.round(this.#aheadMs + Number(ahead) * 1000 - this.#lostMs);
      if (Math.abs(wrongMs) < INEXACT_MS) continue;
      if (this.#isKeeper(who)) this.onViolation(`${who} sets the time of all launchers ${wrongMs} ms wrong`);
      this.#lostMs += wrongMs;
      this.onLost();
    }
  }

  now(): number {
    return this.#world.now() + this.#aheadMs;
  }

  steadyNow(): number {
    return this.#world.steadyNow();
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    return this.#world.setTimer(ms, fn);
  }
}
