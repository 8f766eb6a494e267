import { expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { countedClock } from './counted-clock.js';

it('begins with the time of its clock, and continues when that is set', async () => {
  const clock = new VirtualClock();
  const counted = countedClock(clock);
  const beganMs = clock.now();
  clock.set(beganMs - 3_600_000);

  await clock.advance(5_000);

  expect(counted.now() - beganMs).toBe(5_000);
});
