import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { Retries } from './retries.js';

const LIMITS = { firstMs: 25, longestMs: 500 };

function setUp() {
  const clock = new VirtualClock();
  const retries = new Retries<string>({ clock, random: () => 0.5 });
  const retried: string[] = [];
  const schedule = (key: string, limits = LIMITS) => retries.schedule(key, limits, () => retried.push(key));
  return { clock, retries, retried, schedule };
}

it('retries a key after pauses that grow to the longest one', async () => {
  const { clock, retries, retried, schedule } = setUp();
  const pauses: number[] = [];

  for (let i = 0; i < 8; i++) {
    pauses.push(schedule('a'));
    expect(retries.isPausing('a')).toBe(true);
    await clock.advance(pauses.at(-1) ?? 0);
    expect(retries.isPausing('a')).toBe(false);
  }

  expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
  expect(pauses[0]).toBeLessThanOrEqual(25);
  expect(pauses.at(-1)).toBeLessThanOrEqual(500);
  expect(pauses.at(-1)).toBeGreaterThan(200);
  expect(retried).toEqual(pauses.map(() => 'a'));
});

it('retries a key once that is scheduled again during its pause', async () => {
  const { clock, retried, schedule } = setUp();

  schedule('a');
  schedule('a');
  await clock.advance(1_000);

  expect(retried).toEqual(['a']);
});

it('forgets a key, whose next pause is a first one', async () => {
  const { clock, retries, retried, schedule } = setUp();
  const first = schedule('a');
  schedule('a');
  schedule('b');

  retries.forget('a');
  await clock.advance(1_000);

  expect(retried).toEqual(['b']);
  expect(schedule('a')).toBe(first);
});

it('retries nothing after it has stopped', async () => {
  const { clock, retries, retried, schedule } = setUp();
  schedule('a');

  retries.stop();
  await clock.advance(1_000);

  expect([retried, clock.pendingTimers]).toEqual([[], 0]);
});
