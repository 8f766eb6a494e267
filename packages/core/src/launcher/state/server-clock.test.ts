import { ensureDatabaseId, LEASES_ROOT } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { ServerClock } from './server-clock.js';

const signal = new AbortController().signal;

async function clockAhead(aheadMs: number) {
  const world = await ServiceWorld.open();
  const { clock, zk } = world;
  await clock.run(ensureDatabaseId(world.other, signal, [LEASES_ROOT]));
  const own = { now: () => clock.now() + aheadMs, setTimer: clock.setTimer.bind(clock) };
  const serverClock = new ServerClock(zk, own);
  return { world, serverClock, measure: () => clock.run(serverClock.measure(signal)) };
}

describe('the clock of the server', () => {
  it.each([3_600_000, -3_600_000])('is followed by a process whose clock is %i ms ahead', async (aheadMs) => {
    const { world, serverClock, measure } = await clockAhead(aheadMs);
    expect(serverClock.now()).toBe(world.clock.now() + aheadMs);

    await measure();

    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
    await world.pass(5_000);
    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
  });

  it('is that of the process while both agree as far as a write shows', async () => {
    const { world, serverClock, measure } = await clockAhead(0);

    await measure();

    expect(serverClock.now()).toBe(world.clock.now());
  });

  it('is measured again after a lost connection', async () => {
    const { world, serverClock, measure } = await clockAhead(60_000);
    world.loseAnswer((write) => write.endsWith(LEASES_ROOT));

    await measure();

    expect(world.breaks).toBe(1);
    expect(Math.abs(serverClock.now() - world.clock.now())).toBeLessThan(100);
  });
});
