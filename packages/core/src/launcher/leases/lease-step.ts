import type { RetryLimits } from '../state/retries.js';

/** How long other launchers leave a step to the keeper of its lease. */
export const KEEPER_MS = 2_000;

/** What is to be done about a lease, and since when. Its keeper does it at once, others after a while. */
export interface Step {
  readonly sinceMs: number;
  /** How long others leave it to the keeper; default: {@link KEEPER_MS}. */
  readonly keeperMs?: number;
  /** Left to the sweep: a lease that is over needs no timer. */
  readonly isSwept?: boolean;
  /** Pauses after a failure; default: short ones. */
  readonly retry?: RetryLimits;
  readonly run: () => Promise<unknown>;
}
