import fc from 'fast-check';

/**
 * Property tests of a file that imports this take the same examples in every run: a test that passed keeps passing until
 * something changes. To look for other ones: `PROPERTY_SEED=$RANDOM PROPERTY_RUNS=5000`.
 */
const { PROPERTY_SEED, PROPERTY_RUNS } = process.env;

fc.configureGlobal({ seed: Number(PROPERTY_SEED ?? 2019), numRuns: Number(PROPERTY_RUNS ?? 100) });
