import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BootTimes } from './boot-times.js';
import '../../../test/support/same-examples.js';

const INTERVAL_MS = 600_000;

/** Machines of each interval, in ms. */
function timesOf(intervals: readonly (readonly number[])[]): BootTimes {
  const times = new BootTimes();
  for (const [i, interval] of intervals.entries()) for (const took of interval) times.note(took, i * INTERVAL_MS);
  return times;
}

const many = (took: number, count: number) => Array.from({ length: count }, () => took);

describe('what is usual', () => {
  it('is not known before a machine was ready', () => {
    expect(new BootTimes().usualMs).toBeUndefined();
  });

  it('is not changed by a herd within one interval, however large', () => {
    expect(timesOf([[...many(40_000, 32), ...many(400_000, 1_000)], many(41_000, 1)]).usualMs).toBe(40_000);
  });

  it('is not changed by an hour of slow machines in an afternoon of others', () => {
    const intervals = [
      ...many(40_000, 7).map((took) => many(took, 20)),
      ...many(90_000, 6).map((took) => many(took, 20)),
    ];

    expect(timesOf(intervals).usualMs).toBe(40_000);
  });

  it('follows an image that boots slower permanently', () => {
    const intervals = [
      ...many(40_000, 12).map((took) => many(took, 5)),
      ...many(90_000, 8).map((took) => many(took, 5)),
    ];

    expect(timesOf(intervals).usualMs).toBe(90_000);
  });

  it('is always a time that was seen', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 50 }), { minLength: 1 }),
        (intervals) => {
          expect(intervals.flat()).toContain(timesOf(intervals).usualMs);
        },
      ),
    );
  });
});
