import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { patientClock, systemClock } from './clock.js';

const DAY_MS = 86_400_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe.each([
  ['systemClock', systemClock],
  ['patientClock', patientClock],
])('%s', (_name, clock) => {
  it('waits for longer than Node.js can wait in one go', () => {
    const fired = vi.fn();
    clock.setTimer(60 * DAY_MS, fired);

    vi.advanceTimersByTime(60 * DAY_MS - 1);
    expect(fired).not.toHaveBeenCalled();

    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledOnce();
  });

  it('cancels a long timer in its second part', () => {
    const fired = vi.fn();
    const cancel = clock.setTimer(60 * DAY_MS, fired);

    vi.advanceTimersByTime(30 * DAY_MS);
    cancel();
    vi.advanceTimersByTime(60 * DAY_MS);

    expect(fired).not.toHaveBeenCalled();
  });

  it('fires a timer in the past at once', () => {
    const fired = vi.fn();
    clock.setTimer(-5, fired);

    vi.advanceTimersByTime(1);

    expect(fired).toHaveBeenCalledOnce();
  });
});
