import { steadyNow, type CancelTimer, type Clock } from '@nodepool/zk-protocol';

/** In which order a process that has stood still does what became due meanwhile. */
export type WakeOrder = 'as-due' | 'timers-first' | 'sockets-first';

/** How a process wakes. */
export interface Waking {
  readonly order: WakeOrder;
  /** Holds callbacks of `setImmediate` back: an event loop reads its sockets between late timers and those. @returns lets them run */
  readonly holdImmediates: () => () => void;
}

/** No timer is shorter, as in a real process: the rest of a wait may be too short to be added to the time of day. */
const LEAST_MS = 0.25;

interface Late {
  readonly isSocket: boolean;
  readonly act: () => void;
}

/**
 * Clock of one process, or of a part of one, on a shared clock. It counts the timers of the process, delays them
 * while the process stalls, and cancels them when the process dies. Its steady time begins with the process, and is not that of the day.
 */
export class ProcessClock implements Clock {
  /** The same for data that arrives: it waits as timers do, and is read before or after them. */
  readonly sockets: Clock = {
    now: () => this.now(),
    steadyNow: () => this.steadyNow(),
    setTimer: (ms, fn) => this.#setTimer(ms, fn, true),
  };
  readonly #world: Clock;
  readonly #beganMs: number;
  #aheadMs: number;
  readonly #timers = new Set<CancelTimer>();
  /** What became due while the process stalled, in order. */
  #late: Late[] = [];
  #stalledUntilMs = -Infinity;
  #waking: Waking | undefined;
  #letImmediatesRun: (() => void) | undefined;
  #isDead = false;

  /**
   * @param world - clock shared by all processes
   * @param aheadMs - how far the clock of this process is wrong
   */
  constructor(world: Clock, aheadMs = 0) {
    this.#world = world;
    this.#beganMs = steadyNow(world);
    this.#aheadMs = aheadMs;
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Current time in whole milliseconds, like in a real process. */
  now(): number {
    return Math.floor(this.#world.now() + this.#aheadMs);
  }

  /** Time since the process began, in whole milliseconds too. */
  steadyNow(): number {
    return Math.floor(steadyNow(this.#world) - this.#beganMs);
  }

  /** Sets the clock forward by `ms`, or back: timers and steady time do not change. */
  step(ms: number): void {
    this.#aheadMs += ms;
  }

  setTimer(ms: number, fn: () => void): CancelTimer {
    return this.#setTimer(ms > 0 ? Math.max(ms, LEAST_MS) : 0, fn, false);
  }

  /**
   * Stalls the process for this time: timers that become due are delayed, and data is not read.
   * @param waking - default: all of it one by one, as it became due
   */
  stall(ms: number, waking?: Waking): void {
    const nowMs = steadyNow(this.#world);
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, nowMs + ms);
    this.#waking = waking;
    this.#world.setTimer(this.#stalledUntilMs - nowMs, () => this.#wake());
  }

  /** Ends the process: cancels all timers and ignores new ones. */
  kill(): void {
    this.#isDead = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#late.length = 0;
    this.#endWaking();
  }

  #setTimer(ms: number, fn: () => void, isSocket: boolean): CancelTimer {
    if (this.#isDead) return () => {};
    const act = () => {
      if (this.#timers.delete(cancel)) fn();
    };
    const cancel = this.#world.setTimer(ms, () => {
      if (steadyNow(this.#world) < this.#stalledUntilMs) this.#late.push({ isSocket, act });
      else act();
    });
    this.#timers.add(cancel);
    return () => {
      if (this.#timers.delete(cancel)) cancel();
    };
  }

  #wake(): void {
    if (this.#isStalled) return;
    const { order = 'as-due', holdImmediates } = this.#waking ?? {};
    if (order !== 'as-due') {
      const isFirst = ({ isSocket }: Late) => isSocket === (order === 'sockets-first');
      this.#late = [...this.#late.filter(isFirst), ...this.#late.filter((late) => !isFirst(late))];
    }
    if (order === 'timers-first' && !this.#isDead) this.#letImmediatesRun ??= holdImmediates?.();
    this.#catchUp();
  }

  /** Does what is late one at a time, so that promise callbacks run in between. */
  #catchUp(): void {
    const [next] = this.#late;
    if (this.#isStalled || next === undefined) return this.#endWaking();
    this.#late.shift();
    next.act();
    this.#world.setTimer(0, () => this.#catchUp());
  }

  get #isStalled(): boolean {
    return steadyNow(this.#world) < this.#stalledUntilMs;
  }

  #endWaking(): void {
    this.#letImmediatesRun?.();
    this.#letImmediatesRun = undefined;
  }
}
