import { delay } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.js';

describe('VirtualClock', () => {
  it('fires timers by due time, then in the order in which they were set', async () => {
    const clock = new VirtualClock(0);
    const fired: string[] = [];
    for (const [name, ms] of [
      ['c', 20],
      ['a', 10],
      ['b', 10],
    ] as const) {
      clock.setTimer(ms, () => fired.push(`${name} ${clock.now()}`));
    }

    await clock.advance(20);

    expect(fired).toEqual(['a 10', 'b 10', 'c 20']);
    expect(clock.now()).toBe(20);
  });

  it('runs all ready work between two timers, and timers set in the meantime', async () => {
    const clock = new VirtualClock(0);
    const seen: number[] = [];
    const work = async () => {
      for (let i = 0; i < 3; i++) {
        await delay(clock, 5);
        seen.push(clock.now());
      }
    };

    const working = work();
    await clock.advance(12);
    await clock.run(working);

    expect(seen).toEqual([5, 10, 15]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('steps from timer to timer, and to the given time if no timer is due', () => {
    const clock = new VirtualClock(0);
    const fired: number[] = [];
    for (const ms of [30, 10]) clock.setTimer(ms, () => fired.push(clock.now()));

    expect([clock.step(20), clock.step(20), clock.now()]).toEqual([true, false, 20]);
    expect([clock.step(40), clock.now()]).toEqual([true, 30]);
    expect(fired).toEqual([10, 30]);
  });

  it('does not fire cancelled timers', async () => {
    const clock = new VirtualClock(0);
    const cancel = clock.setTimer(5, () => expect.unreachable());

    cancel();
    cancel();
    await clock.advance(10);

    expect(clock.pendingTimers).toBe(0);
  });

  it('reports a promise that no timer can settle', async () => {
    const clock = new VirtualClock(0);

    await expect(clock.run(new Promise(() => undefined))).rejects.toThrow('no timer is set');
  });

  it('gives up after the limit', async () => {
    const clock = new VirtualClock(0);
    const cancel = clock.setTimer(2_000, () => undefined);

    await expect(clock.run(new Promise(() => undefined), 1_000)).rejects.toThrow('not settled after 1000 ms');
    cancel();
  });
});
