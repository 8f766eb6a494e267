import { describe, expect, it } from 'vitest';
import { chanceOf } from './rates.js';

const counts = (ready: number, failed: number) => ({ ready, failed });

describe('the chance that a build as good as the one before it fails as often', () => {
  it.each([
    ['3 of 3 against none of 3', counts(0, 3), counts(3, 0), 1 / 20],
    ['5 of 5 against none of 5', counts(0, 5), counts(5, 0), 1 / 252],
    ['3 of 4 against 1 of 4', counts(1, 3), counts(3, 1), 17 / 70],
    // As tables of the test have it.
    ['10 of 12 against 3 of 18', counts(2, 10), counts(15, 3), 0.000465],
    ['nothing known of before', counts(1, 4), counts(0, 0), 1],
    ['both fail always', counts(0, 5), counts(0, 50), 1],
    ['no failure', counts(5, 0), counts(50, 0), 1],
    ['a lower rate', counts(100, 0), counts(50, 50), 1],
  ])('is right for %s', (_, now, before, chance) => {
    expect(chanceOf([{ now, before }])).toBeCloseTo(chance, 6);
  });

  it('compares within each provider: a bad one counts for neither build', () => {
    const bad = { now: counts(3, 3), before: counts(3, 3) };
    const good = { now: NONE_YET, before: counts(100, 0) };

    expect(chanceOf([bad, good])).toBeGreaterThan(0.5);
    expect(chanceOf([{ now: bad.now, before: counts(103, 3) }])).toBeLessThan(0.005);
  });

  it('puts providers together: few failures in each are many in all', () => {
    const each = { now: counts(0, 2), before: counts(2, 0) };

    expect(chanceOf([each])).toBeCloseTo(1 / 6, 6);
    expect(chanceOf([each, each, each])).toBeCloseTo(1 / 6 ** 3, 6);
  });
});

const NONE_YET = counts(0, 0);
