/** Settings of an exponential back-off. */
export interface BackoffOptions {
  /** First delay. */
  readonly firstMs: number;
  /** Longest delay. */
  readonly longestMs: number;
  /** Ratio of successive delays. @default 2 */
  readonly factor?: number;
  /** Random share of each delay: with 0.5 a delay lasts between half and all of its length. @default 1/3 */
  readonly jitter?: number;
}

/**
 * Delay before the next attempt, in milliseconds.
 * @param failures - number of earlier delays, 0 for the first
 * @param random - number in [0, 1); without it the delay is not random
 */
export function backoffMs(failures: number, options: BackoffOptions, random: () => number = () => 0): number {
  const { firstMs, longestMs, factor = 2, jitter = 1 / 3 } = options;
  const fullMs = Math.min(longestMs, firstMs * factor ** Math.min(failures, 50));
  return fullMs * (1 - jitter * random());
}
