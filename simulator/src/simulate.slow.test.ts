import { FEATURES } from '@nodepool/core/launcher';
import { describe, expect, it } from 'vitest';
import { runSeeds } from './run-seeds.js';
import { simulate } from './simulate.js';

describe('simulation', () => {
  it('repeats a run for the same seed, with and without a trace', async () => {
    const [first, second, untraced] = [
      await simulate(1, { trace: true }),
      await simulate(1, { trace: true }),
      await simulate(1),
    ];

    expect(second.trace).toEqual(first.trace);
    expect(untraced.steps).toBe(first.steps);
  });

  it('gives different runs for different seeds', async () => {
    const [one, two] = [await simulate(1, { trace: true }), await simulate(2, { trace: true })];

    expect(one.trace).not.toEqual(two.trace);
  });

  it.each([1, 21, 41, 61, 81, 101])('keeps its promises whatever goes wrong: 20 seeds from %i', async (from) => {
    expect(await runSeeds(from, 20)).toBeGreaterThan(100);
  });

  it('throws no instance away where only launchers fail', async () => {
    expect(await runSeeds(1, 20, { faults: 'launchers' })).toBeGreaterThan(100);
  });

  it.each(Object.keys(FEATURES))('keeps its promises with launchers without %s: 20 seeds', async (without) => {
    expect(await runSeeds(201, 20, { without })).toBeGreaterThan(100);
  });
});
