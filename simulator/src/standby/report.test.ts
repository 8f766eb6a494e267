import { expect, it } from 'vitest';
import { compareTrace, standbyTable, totalsOf, withoutBest } from './report.js';
import { traces } from './traces.js';

const KINDS = ['nightly jobs, clocks change', 'quiet label', 'renamed label'];
const compared = traces(1)
  .filter(({ name }) => KINDS.includes(name))
  .map(compareTrace);

it('schedules meet the goal with less idle time than the best constant', () => {
  const [schedule, constant] = [totalsOf(compared, 'schedule'), totalsOf(compared, 'constant')];

  expect(schedule.met).toBe(KINDS.length);
  expect(schedule.idleHours).toBeLessThan(0.5 * constant.idleHours);
});

it('no way is idle less than the clairvoyant', () => {
  for (const { trace, auto, schedule, clairvoyant } of compared)
    for (const { idleHours } of [auto, schedule])
      expect([trace.name, idleHours > clairvoyant.idleHours]).toEqual([trace.name, true]);
});

it('have a line each in the table, and three for all', () => {
  expect(standbyTable(compared).split('\n')).toHaveLength(2 + compared.length + 3);
  expect(withoutBest(compared)).toHaveLength(1);
});
