import { type Clock, steadyNow } from '../../base/clock.js';

/** Time of day and steady time, in whole milliseconds. */
export interface Moment {
  /** Time since the UNIX epoch, stored in znodes. Jumps when the clock is set. */
  readonly wallMs: number;
  /** Monotonic time, for deadlines. */
  readonly steadyMs: number;
}

/** Now. */
export function momentOf(clock: Clock): Moment {
  return { wallMs: Math.floor(clock.now()), steadyMs: Math.floor(steadyNow(clock)) };
}
