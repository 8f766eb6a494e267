/** How pauses between attempts grow. */
export interface BackoffOptions {
  /** Length of the first pause. */
  readonly firstMs: number;
  /** No pause is longer. */
  readonly longestMs: number;
  /** How many times as long as the one before each pause is. @default 2 */
  readonly factor?: number;
  /** Share of each pause that is left to chance: at 0.5 a pause lasts between half of its length and all of it. @default 1/3 */
  readonly jitter?: number;
}

/**
 * How long to wait before the next attempt, in milliseconds.
 * @param failures - how many pauses there were before, 0 for the first
 * @param random - number in [0, 1); without it nothing is left to chance
 */
export function backoffMs(failures: number, options: BackoffOptions, random: () => number = () => 0): number {
  const { firstMs, longestMs, factor = 2, jitter = 1 / 3 } = options;
  const fullMs = Math.min(longestMs, firstMs * factor ** Math.min(failures, 50));
  return fullMs * (1 - jitter * random());
}
