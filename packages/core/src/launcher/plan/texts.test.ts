import { describe, expect, it } from 'vitest';
import { failureTime, amountText, labelsToText, probeTime, timeToProbe, withTimesFromNow } from './texts.js';

it.each([
  [10_000, 'attempt 1 of 3 failed, the next one begins in 5 s: down'],
  [15_000, 'attempt 1 of 3 failed, the next one has begun: down'],
  [99_000, 'attempt 1 of 3 failed, the next one has begun: down'],
])('the next attempt is not said to be in the past: at %i ms', (nowMs, text) => {
  const stored = `attempt 1 of 3 failed, the next one begins at ${new Date(15_000).toISOString()}: down`;

  expect(withTimesFromNow(stored, nowMs)).toBe(text);
});

describe('labels for people', () => {
  it('are shown as they are while they are few, or all different', () => {
    expect(labelsToText(['big', 'big', 'small'])).toBe('big, big, small');
    expect(labelsToText(['a', 'b', 'c', 'd', 'e', 'f'], ',')).toBe('a,b,c,d,e,f');
  });

  it('are counted when they are many', () => {
    expect(labelsToText(Array<string>(5000).fill('big'))).toBe('5000 x big');
    expect(labelsToText(['a', 'b', 'a', 'b', 'a', 'c'])).toBe('3 x a, 2 x b, c');
  });
});

describe('amounts', () => {
  it('are singular when they are one', () => {
    expect([amountText(1, 'instances'), amountText(2, 'cores'), amountText(1, 'ram')]).toEqual([
      '1 instance',
      '2 cores',
      '1 ram',
    ]);
  });
});

describe('the next probe', () => {
  it('is written as a time in a verdict, and as the remaining time in an explanation', () => {
    const text = `3 launches in a row failed, ${failureTime(10_000)}, ${probeTime(60_000)}: no capacity`;

    expect(text).toBe(
      '3 launches in a row failed, the last at 1970-01-01T00:00:10.000Z, next probe at 1970-01-01T00:01:00.000Z: no capacity',
    );
    expect(withTimesFromNow(text, 20_400)).toBe(
      '3 launches in a row failed, the last 10 s ago, next probe in 40 s: no capacity',
    );
  });

  it('may be due, or in progress', () => {
    expect(timeToProbe(60_000, 60_000)).toBe('next probe now');
    expect(timeToProbe(undefined, 0)).toBe('a probe is due or in progress');
    expect(withTimesFromNow('a probe is in progress: no capacity', 0)).toBe('a probe is in progress: no capacity');
  });
});
