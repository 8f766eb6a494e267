import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/index.js';
import { ConnectionPace, sharedPace } from './connection-pace.js';

/** How many connections of `count` a server has seen after each of some seconds. */
async function made(count: number, seconds: readonly number[]): Promise<number[]> {
  const clock = new VirtualClock();
  const pace = new ConnectionPace(clock);
  let connections = 0;
  for (let i = 0; i < count; i++) void pace.turn('h1', 22, 1).then(() => connections++);
  const seen: number[] = [];
  let atSeconds = 0;
  for (const each of seconds) {
    await clock.advance((each - atSeconds) * 1_000);
    atSeconds = each;
    seen.push(connections);
  }
  return seen;
}

it('lets ten connections to a server through at once, then one a second', async () => {
  expect(await made(100, [0, 1, 5, 60, 100])).toEqual([10, 11, 15, 70, 100]);
});

it('counts each port of a host by itself, and forgets turns that were not used or not waited for', async () => {
  const clock = new VirtualClock();
  const pace = new ConnectionPace(clock);
  await pace.turn('h1', 22, 10);
  await pace.turn('h1', 23, 10);
  const abort = new AbortController();
  const waits = Array.from({ length: 1_000 }, () => pace.turn('h1', 22, 3, abort.signal).catch(() => 'ended'));
  abort.abort(new Error('stopping'));
  expect(new Set(await Promise.all(waits))).toEqual(new Set(['ended']));

  pace.count('h1', 22, -3);

  await pace.turn('h1', 22, 3);
});

it('is one for all users of a clock', () => {
  const clock = new VirtualClock();

  expect(sharedPace(clock)).toBe(sharedPace(clock));
  expect(sharedPace(new VirtualClock())).not.toBe(sharedPace(clock));
});
