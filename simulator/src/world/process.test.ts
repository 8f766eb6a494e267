import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedProcess } from './process.js';
import { World } from './world.js';

let world: World;
let process: SimulatedProcess;

beforeEach(() => {
  world = new World(1, false);
  process = new SimulatedProcess(world, 'launcher1', world.server);
});

afterEach(() => world.restore());

describe('the stalled time of a process', () => {
  it('counts overlapping stalls once', () => {
    const beginMs = world.clock.now();
    process.stall(1_000);
    process.silence(1_500);

    expect(process.stalledMs(beginMs, beginMs + 10_000)).toBe(1_500);
  });

  it('counts only the part within the period', async () => {
    const beginMs = world.clock.now();
    process.stall(1_000);
    await world.run(2_000);
    process.stall(1_000);

    expect(process.stalledMs(beginMs + 500, beginMs + 2_200)).toBe(700);
  });
});

describe('a process that crashes', () => {
  it('runs no more timers', async () => {
    let calls = 0;
    process.clock.setTimer(100, () => calls++);

    process.kill();
    process.kill();
    await world.run(1_000);

    expect(process.isDead).toBe(true);
    expect(calls).toBe(0);
  });
});
