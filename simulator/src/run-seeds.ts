import { simulate, type RunOptions } from './simulate.js';

/**
 * Runs consecutive seeds for a test.
 * @returns the number of fulfilled requests
 * @throws {Error} at the first seed with a violation, with the command that replays it
 */
export async function runSeeds(from: number, count: number, options: RunOptions = {}): Promise<number> {
  let fulfilled = 0;
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulate(seed, options);
    if (result.violations.length > 0) {
      const replay = `npm run simulate -- --from ${seed} --seeds 1 --trace${options.faults === 'launchers' ? ' --launcher-faults' : ''}`;
      throw new Error([`seed ${seed}:`, ...result.violations.slice(0, 5), replay].join('\n'));
    }
    fulfilled += result.fulfilled;
  }
  return fulfilled;
}
