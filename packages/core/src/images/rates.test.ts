import { describe, expect, it } from 'vitest';
import { hasHigherRate } from './rates.js';

const counts = (ready: number, failed: number) => ({ ready, failed });

describe('the comparison of failure rates', () => {
  it.each([
    ['3 of 3 against none of 50', counts(0, 3), counts(50, 0)],
    ['5 of 10 against 5 of 100', counts(5, 5), counts(95, 5)],
    ['20 of 100 against 10 of 1,000', counts(80, 20), counts(990, 10)],
  ])('believes %s', (_, now, before) => {
    expect(hasHigherRate(now, before)).toBe(true);
  });

  it.each([
    ['nothing known of before', counts(1, 4), counts(0, 0)],
    ['the same rate', counts(90, 10), counts(900, 100)],
    ['3 of 60 against 4 of 100', counts(57, 3), counts(96, 4)],
    ['both fail always', counts(0, 5), counts(0, 50)],
    ['a lower rate', counts(100, 0), counts(50, 50)],
  ])('takes %s for chance', (_, now, before) => {
    expect(hasHigherRate(now, before)).toBe(false);
  });

  it('says what the tables of the test say', () => {
    // One-sided p of [[3, 1], [1, 3]] is 0.2429, of [[10, 2], [3, 15]] 0.000465.
    expect([hasHigherRate(counts(1, 3), counts(3, 1)), hasHigherRate(counts(2, 10), counts(15, 3))]).toEqual([
      false,
      true,
    ]);
  });
});
