/** How launches of an image have ended. */
export interface LaunchCounts {
  readonly ready: number;
  readonly failed: number;
}

/** Of nothing. */
export const NONE: LaunchCounts = { ready: 0, failed: 0 };

/** Both together. */
export function added(a: LaunchCounts, b: LaunchCounts): LaunchCounts {
  return { ready: a.ready + b.ready, failed: a.failed + b.failed };
}

/** How likely a difference may be mere chance before it is believed. */
const CHANCE = 0.01;

/**
 * Whether launches fail more often now than before, beyond what chance explains: Fisher's exact test. It needs no
 * assumption about how often launches fail, and is right for small numbers.
 */
export function hasHigherRate(now: LaunchCounts, before: LaunchCounts): boolean {
  const launches = now.ready + now.failed;
  const failed = now.failed + before.failed;
  const all = launches + before.ready + before.failed;
  let chance = 0;
  for (let ours = now.failed; ours <= Math.min(launches, failed); ours++) {
    chance += Math.exp(logWays(failed, ours) + logWays(all - failed, launches - ours) - logWays(all, launches));
  }
  return chance < CHANCE;
}

/** Logarithm of in how many ways so many can be chosen of so many; `-Infinity`: in none. */
function logWays(of: number, chosen: number): number {
  if (chosen < 0 || chosen > of) return -Infinity;
  let sum = 0;
  for (let i = 1; i <= chosen; i++) sum += Math.log((of - chosen + i) / i);
  return sum;
}
