import { expect, it } from 'vitest';
import { drawFaults, FAULTS } from './faults.js';

const SEEDS = Array.from({ length: 1_000 }, (_, seed) => seed);

it('draws each fault for its share of the seeds, the same for the same seed', () => {
  const draws = SEEDS.map((seed) => drawFaults(seed, false));

  for (const { name, share } of FAULTS)
    expect(Math.abs(draws.filter((drawn) => drawn.has(name)).length / SEEDS.length - share)).toBeLessThan(0.05);
  expect(drawFaults(7, false)).toEqual(draws[7]);
});

it('leaves clouds, clients and operators alone where only launchers fail', () => {
  const drawn = new Set(SEEDS.flatMap((seed) => [...drawFaults(seed, true)]));

  expect(drawn).toEqual(new Set(FAULTS.filter(({ isOfLaunchers }) => isOfLaunchers).map(({ name }) => name)));
});

it('takes the faults that were asked for, and no others', () => {
  expect(drawFaults(7, false, ['cut-off'])).toEqual(new Set(['cut-off']));
});
