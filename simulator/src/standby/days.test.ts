import { expect, it } from 'vitest';
import { syntheticDays } from './days.js';

const HOUR_MS = 3_600_000;

/** Requests of one day in each of its hours. */
function hourly(name: string): number[] {
  const day = syntheticDays(1).find((each) => each.name === name);
  if (!day) throw new Error(`there is no day "${name}"`);
  const counts = Array.from({ length: 24 }, () => 0);
  for (const { atMs } of day.arrivals) {
    const hour = Math.floor((atMs - day.beginMs) / HOUR_MS);
    if (hour >= 0) counts[hour] = (counts[hour] ?? 0) + 1;
  }
  return counts;
}

it('makes the same ten days from the same seed', () => {
  const lastOf = (seed: number) => syntheticDays(seed).map(({ arrivals }) => arrivals.at(-1));

  expect(lastOf(1)).toEqual(lastOf(1));
  expect(lastOf(1)).not.toEqual(lastOf(2));
  expect(new Set(syntheticDays(1).map(({ name }) => name)).size).toBe(10);
});

it.each<[string, (hours: readonly number[]) => boolean]>([
  ['office hours', (hours) => (hours[10] ?? 0) > 30 && (hours[3] ?? 0) < 15],
  ['nightly batch', (hours) => (hours[2] ?? 0) >= 40],
  ['release-day burst', (hours) => (hours[14] ?? 0) > 180],
  ['weekend', (hours) => Math.max(...hours) < 15],
  ['new label', (hours) => hours.slice(0, 9).every((count) => count === 0)],
  ['step change', (hours) => (hours[13] ?? 0) > 2 * (hours[10] ?? 0)],
])('makes a day of %s', (name, isSo) => {
  expect(isSo(hourly(name))).toBe(true);
});
