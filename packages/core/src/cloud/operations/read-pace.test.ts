import { expect, it } from 'vitest';
import { InstanceWaits } from './instance-waits.js';
import { ReadPace } from './read-pace.js';

const NEVER = new AbortController().signal;

function open(isReporting = false) {
  let nowMs = 0;
  const waits = new InstanceWaits(() => undefined);
  const pace = new ReadPace({ clock: { now: () => nowMs }, random: () => 0, polling: undefined, isReporting });
  const read = (atMs: number, isGood = true) => {
    nowMs = atMs;
    pace.began();
    if (isGood) pace.succeeded();
    else pace.failed();
    return pace.ended();
  };
  return { waits, pace, read, at: (ms: number) => void (nowMs = ms) };
}

it('does not read while no caller waits', () => {
  const { waits, pace } = open();

  expect(pace.dueMs(waits, false)).toBeUndefined();
});

it('reads less often the longer the youngest caller waits, within its bounds', () => {
  const { waits, pace, read } = open();
  void waits.watch('a', 0, NEVER);
  const dueAfter = (ms: number) => {
    read(ms);
    return (pace.dueMs(waits, false) ?? 0) - ms;
  };

  expect([100, 8_000, 400_000].map(dueAfter)).toEqual([500, 2_000, 10_000]);
});

it('sweeps a cloud that pushes changes', () => {
  const { waits, pace, read } = open(true);
  void waits.watch('a', 0, NEVER);
  read(1_000);

  expect(pace.dueMs(waits, false)).toBe(31_000);
});

it('knows how old its state is while reading fails', () => {
  const { pace, read, at } = open();
  read(1_000);
  const age = read(5_000, false);
  at(9_000);

  expect(age).toBe(0);
  expect(pace.overdueMs).toBe(4_000);
  read(9_000);
  expect(pace.overdueMs).toBe(0);
});
