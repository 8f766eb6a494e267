import { type Clock, steadyNow } from '../../base/clock.js';

/** A time in its two roles. Both in whole milliseconds. */
export interface Moment {
  /** Since the UNIX epoch: what is written into znodes. Jumps when somebody sets the machine's time. */
  readonly wallMs: number;
  /** Never jumps: what ends sessions, empty containers and TTL znodes. */
  readonly steadyMs: number;
}

/** Now. */
export function momentOf(clock: Clock): Moment {
  return { wallMs: Math.floor(clock.now()), steadyMs: Math.floor(steadyNow(clock)) };
}
