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

describe('a process whose clock is set', () => {
  it('keeps its timers and its steady time, which is not the time of day', async () => {
    const times: number[][] = [];
    const beganMs = world.clock.now();
    process.clock.setTimer(100, () => times.push([process.clock.now() - beganMs, process.clock.steadyNow()]));

    process.step(-60_000);
    await world.run(1_000);

    expect(times).toEqual([[-59_900, 100]]);
    expect(process.isStepped).toBe(true);
  });
});

describe('a process that wakes', () => {
  it.each([
    ['as-due', ['socket', 'timer', 'immediate', 'socket']],
    ['timers-first', ['timer', 'socket', 'socket', 'immediate']],
    ['sockets-first', ['socket', 'socket', 'timer', 'immediate']],
  ] as const)('does what is late %s', async (order, expected) => {
    const { clock } = process;
    const done: string[] = [];
    const begun = Promise.resolve();
    clock.sockets.setTimer(10, () => done.push('socket'));
    clock.setTimer(
      20,
      () => void begun.then(() => done.push('timer')).then(() => setImmediate(() => done.push('immediate'))),
    );
    clock.sockets.setTimer(30, () => done.push('socket'));

    clock.stall(1_000, { order, holdImmediates: world.holdImmediates });
    await world.run(2_000);

    expect(done).toEqual(expected);
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
