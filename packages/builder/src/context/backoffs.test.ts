import { describe, expect, it } from 'vitest';
import { Backoffs } from './backoffs.js';

function setUp() {
  const time = { now: 1_000_000, steady: 5_000 };
  const clock = { now: () => time.now, steadyNow: () => time.steady, setTimer: () => () => undefined };
  return { time, backoffs: new Backoffs({ clock, random: () => 0 }, { firstMs: 10_000, longestMs: 60_000 }) };
}

describe('pauses', () => {
  it('double with each failure up to the longest, and are forgotten when cleared', () => {
    const { time, backoffs } = setUp();
    const pauses = Array.from({ length: 5 }, () => {
      backoffs.failed('a', 'disk full');
      return (backoffs.until('a') ?? 0) - time.now;
    });
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(backoffs.get('a')).toMatchObject({ attempts: 5, reason: 'disk full' });
    backoffs.clear('a');
    expect(backoffs.until('a')).toBeUndefined();
  });

  it.each([3_600_000, -3_600_000])('last as long when the clock is set by %i ms', (stepMs) => {
    const { time, backoffs } = setUp();
    backoffs.failed('a', 'disk full');

    time.now += stepMs;
    expect(backoffs.until('a')).toBe(time.now + 10_000);
    time.steady += 10_000;

    expect(backoffs.until('a')).toBeUndefined();
  });

  it('for others end when these have ended, without forgetting failures', () => {
    const { backoffs } = setUp();
    backoffs.failed('a', 'disk full');
    backoffs.hold('a', 'another builder builds it');
    expect(backoffs.until('a')).toBeDefined();

    backoffs.endHold('a');

    expect(backoffs.until('a')).toBeUndefined();
    expect(backoffs.get('a')).toMatchObject({ attempts: 1 });
  });

  it('after a failure last although others have ended', () => {
    const { backoffs } = setUp();
    backoffs.failed('a', 'disk full');
    backoffs.endHold('a');
    expect(backoffs.until('a')).toBeDefined();
  });
});
