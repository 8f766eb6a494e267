import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.js';

const pauses = (count: number, ...rest: [Parameters<typeof backoffMs>[1], (() => number)?]) =>
  Array.from({ length: count }, (_, failures) => backoffMs(failures, ...rest));

describe('backoffMs', () => {
  it('doubles up to the longest pause', () => {
    expect(pauses(5, { firstMs: 100, longestMs: 1_000 })).toEqual([100, 200, 400, 800, 1_000]);
  });

  it('grows by another factor where one is given', () => {
    expect(pauses(3, { firstMs: 100, longestMs: 1_000, factor: 3 })).toEqual([100, 300, 900]);
  });

  it('shortens each pause by up to a third, or by the share that is given', () => {
    const all = () => 1;

    expect(backoffMs(0, { firstMs: 300, longestMs: 1_000 }, all)).toBeCloseTo(200);
    expect(backoffMs(0, { firstMs: 300, longestMs: 1_000, jitter: 0.5 }, all)).toBe(150);
    expect(backoffMs(9, { firstMs: 300, longestMs: 1_000, jitter: 0.5 }, () => 0)).toBe(1_000);
  });

  it('stays at the longest pause after any number of failures', () => {
    expect(backoffMs(100_000, { firstMs: 100, longestMs: 60_000 })).toBe(60_000);
  });
});
