/** Results of launches of an image. */
export interface LaunchCounts {
  readonly ready: number;
  readonly failed: number;
}

/** No launches. */
export const NONE: LaunchCounts = { ready: 0, failed: 0 };

/** Sum of two counts. */
export function added(a: LaunchCounts, b: LaunchCounts): LaunchCounts {
  return { ready: a.ready + b.ready, failed: a.failed + b.failed };
}

/** Launches of two builds under the same conditions, for example in one provider. */
export interface Comparison {
  readonly now: LaunchCounts;
  readonly before: LaunchCounts;
}

/**
 * Probability of at least as many failures of the new build if it is as good as the previous one: Fisher's exact test, one-sided.
 * It needs no assumption about the failure rate, and is exact for small numbers. Comparisons are combined by provider, so a
 * provider with more failures does not count against the build.
 */
export function chanceOf(comparisons: readonly Comparison[]): number {
  const observed = comparisons.reduce((sum, { now }) => sum + now.failed, 0);
  const chances = comparisons.map(failureChances).reduce(sumOf, [1]);
  return Math.min(
    1,
    chances.slice(observed).reduce((sum, chance) => sum + chance, 0),
  );
}

/** Probabilities that 0, 1, ... of all failures are those of the new build. */
function failureChances({ now, before }: Comparison): number[] {
  const launches = now.ready + now.failed;
  const failed = now.failed + before.failed;
  const all = launches + before.ready + before.failed;
  return Array.from({ length: Math.min(launches, failed) + 1 }, (_, ours) =>
    Math.exp(logWays(failed, ours) + logWays(all - failed, launches - ours) - logWays(all, launches)),
  );
}

/** Distribution of the sum of two independent numbers. */
function sumOf(a: readonly number[], b: readonly number[]): number[] {
  const sum = Array<number>(a.length + b.length - 1).fill(0);
  a.forEach((one, i) => b.forEach((other, j) => (sum[i + j] = (sum[i + j] ?? 0) + one * other)));
  return sum;
}

/** Logarithm of the binomial coefficient; `-Infinity` if it is zero. */
function logWays(of: number, chosen: number): number {
  if (chosen < 0 || chosen > of) return -Infinity;
  let sum = 0;
  for (let i = 1; i <= chosen; i++) sum += Math.log((of - chosen + i) / i);
  return sum;
}
