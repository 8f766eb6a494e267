import { expect, it } from 'vitest';
import { Scenario } from '../scenario.js';
import { World } from '../world/world.js';
import { checkClosedProvider } from './closed-provider.js';

/** Launchers accept requests until this time, and are gone afterwards. */
const KILLED_AFTER_MS = 8_000;

it('finds requests that no launcher works on any more', async () => {
  const world = new World(4, false);
  world.drawn = new Set(['no-concurrency']);
  try {
    const scenario = new Scenario(world);
    for (const actor of [...scenario.launchers, ...scenario.clients]) actor.start();
    await world.run(30_000);
    for (const launcher of scenario.launchers) world.clock.setTimer(KILLED_AFTER_MS, () => launcher.crash());

    expect(await checkClosedProvider(world, scenario)).toBe(true);

    const left = world.violations.filter(({ message }) => message.includes('is left pending'));
    expect(left.length).toBeGreaterThan(0);
    expect(left).toEqual(world.violations);
  } finally {
    world.restore();
  }
});

it('is left out without the fault', async () => {
  const world = new World(4, false);
  try {
    expect(await checkClosedProvider(world, new Scenario(world))).toBe(false);
  } finally {
    world.restore();
  }
});
