import fc from 'fast-check';

/**
 * Property tests in files that import this module use the same examples in every run, so that results are reproducible.
 * To try other examples: `PROPERTY_SEED=$RANDOM PROPERTY_RUNS=5000`.
 */
const { PROPERTY_SEED, PROPERTY_RUNS } = process.env;

fc.configureGlobal({ seed: Number(PROPERTY_SEED ?? 2019), numRuns: Number(PROPERTY_RUNS ?? 100) });
