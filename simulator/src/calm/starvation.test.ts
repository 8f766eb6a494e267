import { expect, it } from 'vitest';
import { Scenario } from '../scenario.js';
import { World } from '../world/world.js';
import { checkStarvation } from './starvation.js';

it('finds that nothing is launched for a label that works', async () => {
  const world = new World(3, false);
  world.drawn = new Set(['broken-labels']);
  try {
    const scenario = new Scenario(world);
    for (const client of scenario.clients) client.start();
    await world.run(1_000);

    expect(await checkStarvation(world, scenario)).toBe(true);

    expect(world.violations.map(({ message }) => message)).toEqual([
      'lame makes no nodes of a label that works for 64 s',
    ]);
  } finally {
    world.restore();
  }
});

it('leaves capacity for the label that works, whatever quota clouds have', async () => {
  const world = new World(25, false);
  world.drawn = new Set(['broken-labels']);
  try {
    const scenario = new Scenario(world);
    for (const actor of [...scenario.launchers, ...scenario.clients]) actor.start();
    await world.run(10_000);

    await checkStarvation(world, scenario);

    expect(world.violations).toEqual([]);
  } finally {
    world.restore();
  }
});

it('is left out without the fault', async () => {
  const world = new World(3, false);
  try {
    expect(await checkStarvation(world, new Scenario(world))).toBe(false);
  } finally {
    world.restore();
  }
});
