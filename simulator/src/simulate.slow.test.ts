import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.js';

/** Runs so many seeds; throws at the first that shows something that must not be, with how to replay it. */
async function runSeeds(from: number, count: number): Promise<number> {
  let fulfilled = 0;
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulate(seed);
    if (result.violations.length > 0) {
      const replay = `npm run simulate -- --from ${seed} --seeds 1 --trace`;
      throw new Error([`seed ${seed}:`, ...result.violations.slice(0, 5), replay].join('\n'));
    }
    fulfilled += result.fulfilled;
  }
  return fulfilled;
}

describe('simulation', () => {
  it('gives the same run for the same seed, traced or not', async () => {
    const [first, second, untraced] = [await simulate(1, true), await simulate(1, true), await simulate(1)];

    expect(second.trace).toEqual(first.trace);
    expect(untraced.steps).toBe(first.steps);
  });

  it('gives different runs for different seeds', async () => {
    const [one, two] = [await simulate(1, true), await simulate(2, true)];

    expect(one.trace).not.toEqual(two.trace);
  });

  it.each([1, 26, 51, 76, 101, 126, 151, 176])(
    'keeps its promises whatever goes wrong: 25 seeds from %i',
    async (from) => {
      expect(await runSeeds(from, 25)).toBeGreaterThan(100);
    },
  );
});
