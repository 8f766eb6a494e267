import type { LeaseRecord } from '@nodepool/zk-protocol';

/** When a lease ends, by the time of the ZooKeeper server, and the reason that its record gets. */
export interface LeaseEnd {
  readonly timeMs: number;
  readonly why: string;
}

/**
 * When a lease will end; `undefined`: it waits without a limit, or is over.
 * @param maxHoldAgeMs - of the configuration, which may have been changed since an active lease was requested or renewed; 0: none
 */
export function endOfLease({ state, stateTimeMs, dueTimeMs }: LeaseRecord, maxHoldAgeMs: number): LeaseEnd | undefined {
  if (state === 'waiting' && dueTimeMs !== null) return { timeMs: dueTimeMs, why: 'it was not served in time' };
  if (state !== 'active') return undefined;
  const lastMs = maxHoldAgeMs === 0 ? Infinity : stateTimeMs + maxHoldAgeMs;
  const timeMs = dueTimeMs ?? stateTimeMs;
  if (timeMs <= lastMs) return { timeMs, why: 'it expired' };
  return { timeMs: lastMs, why: `max-hold-age of the configuration ends a lease after ${maxHoldAgeMs / 1000} s` };
}
