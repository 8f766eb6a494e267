import { expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { Allowance } from './allowance.js';

it('comes back with time up to its limit, whatever the clock shows, and can be overdrawn', async () => {
  const clock = new VirtualClock();
  const allowance = new Allowance({ clock, most: 10, perSecond: 2 });
  await clock.advance(60_000);
  expect(allowance.left).toBe(10);

  allowance.spend(14);
  clock.set(clock.now() + 3_600_000);
  expect(allowance.left).toBe(-4);

  await clock.advance(3_000);
  allowance.spend(1);
  expect(allowance.left).toBe(1);
});
