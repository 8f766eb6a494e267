import { expect, it } from 'vitest';
import { UsualTime } from './usual-time.js';

/** Records times. @param everyMs - time between two of them */
function noteAll(usual: UsualTime, tookMs: readonly number[], everyMs: number, fromMs = 0): number {
  let nowMs = fromMs;
  for (const each of tookMs) usual.note(each, (nowMs += everyMs));
  return nowMs;
}

const times = (count: number, tookMs: number) => Array.from({ length: count }, () => tookMs);

it('the usual time is the median of the first ones', () => {
  const usual = new UsualTime();

  noteAll(usual, [400_000, 40_000, 39_000, 41_000, 300_000], 1_000);

  expect(usual.ms).toBe(41_000);
});

it('many launches at once, and an incident, do not become usual', () => {
  const [herd, incident] = [new UsualTime(), new UsualTime()];
  for (const usual of [herd, incident]) noteAll(usual, times(10, 40_000), 1_000);

  noteAll(herd, times(1_000, 400_000), 100, 10_000);
  noteAll(incident, times(30, 400_000), 60_000, 10_000);

  expect(herd.ms).toBeLessThan(41_000);
  expect(incident.ms).toBeLessThan(60_000);
});

it('what lasts for hours becomes usual, and no longer than that', () => {
  const usual = new UsualTime();
  noteAll(usual, times(10, 40_000), 1_000);

  const nowMs = noteAll(usual, times(200, 80_000), 60_000, 10_000);
  const slow = usual.ms;
  noteAll(usual, times(200, 40_000), 60_000, nowMs);

  expect([slow, usual.ms]).toEqual([80_000, 40_000]);
});

it('a single launch after a long pause changes little', () => {
  const usual = new UsualTime();
  noteAll(usual, times(10, 40_000), 1_000);

  usual.note(400_000, 12 * 3_600_000);

  expect(usual.ms).toBeLessThan(45_000);
});
