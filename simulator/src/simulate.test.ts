import { expect, it } from 'vitest';
import { runSeeds } from './run-seeds.js';

it('passes all checks for the first three seeds', async () => {
  expect(await runSeeds(1, 3)).toBeGreaterThan(5);
});
