/** Growing pauses: `firstMs`, doubled each time up to `maxMs`, each shortened at random by up to a third. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number, random: () => number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 30));
  return full * (1 - random() / 3);
}
