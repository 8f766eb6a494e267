import { steadyNow, type Clock } from '@nodepool/zk-protocol';

/**
 * A clock whose time since the epoch is that of now plus steady time since: for times that are shown or stored, and that decide when
 * something is due. It does not jump when the system time is set.
 */
export function countedClock(clock: Clock): Clock {
  const epochMs = clock.now() - steadyNow(clock);
  return {
    now: () => epochMs + steadyNow(clock),
    steadyNow: () => steadyNow(clock),
    setTimer: (ms, fn) => clock.setTimer(ms, fn),
  };
}
