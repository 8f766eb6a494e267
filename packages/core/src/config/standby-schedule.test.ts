import { describe, expect, it } from 'vitest';
import { cronProblem, dueAt, localTimeOf, scheduleText } from './standby-schedule.js';
import { readStandby } from './standby-settings.js';

const HOUR_MS = 3_600_000;

/** Whether nodes are due at a time of UTC. */
function isDue(entry: object, timeZone: string, time: string, leadMs = 0): boolean {
  const [scheduled] = readStandby({ schedule: [{ nodes: 5, ...entry }] })?.schedule ?? [];
  return scheduled !== undefined && dueAt(scheduled, timeZone, Date.parse(time), leadMs) !== undefined;
}

it('tells what the clock of a time zone shows', () => {
  const at = Date.parse('2027-03-28T00:30Z');

  expect(localTimeOf('Europe/Berlin', at)).toEqual({ day: 0, minute: 90 });
  expect(localTimeOf('Europe/Berlin', at + HOUR_MS)).toEqual({ day: 0, minute: 210 });
  expect(localTimeOf('America/Los_Angeles', at)).toEqual({ day: 6, minute: 17 * 60 + 30 });
});

describe('hours', () => {
  const office = { days: 'mon-fri', from: '07:00', to: 1_140 };

  it.each<[string, boolean]>([
    ['2027-06-07T04:59Z', false], // Monday, 06:59 in Berlin
    ['2027-06-07T05:00Z', true],
    ['2027-06-07T16:59Z', true],
    ['2027-06-07T17:00Z', false],
    ['2027-06-05T10:00Z', false], // Saturday
  ])('are by the local clock: %s', (time, expected) => {
    expect(isDue(office, 'Europe/Berlin', time)).toBe(expected);
  });

  it('begin a launch ahead', () => {
    expect(isDue(office, 'Europe/Berlin', '2027-06-07T04:55Z', 120_000)).toBe(false);
    expect(isDue(office, 'Europe/Berlin', '2027-06-07T04:58Z', 120_000)).toBe(true);
  });

  it('that pass midnight belong to the day on which they begin', () => {
    const night = { days: 'fri', from: '22:00', to: '06:00' };

    expect(
      ['2027-06-04T21:59Z', '2027-06-04T22:00Z', '2027-06-05T05:59Z', '2027-06-05T06:00Z', '2027-06-05T22:00Z'].map(
        (time) => isDue(night, 'UTC', time),
      ),
    ).toEqual([false, true, true, false, false]);
  });

  it('are whole days without from and to', () => {
    expect(isDue({ days: 'sat,sun' }, 'UTC', '2027-06-05T00:00Z')).toBe(true);
    expect(isDue({ days: 'sat,sun' }, 'UTC', '2027-06-07T00:00Z')).toBe(false);
  });

  // in each zone, 09:00 on the days before and after the clocks change
  it.each<[string, string, string]>([
    ['Europe/Berlin', '2027-03-27T08:00Z', '2027-03-28T07:00Z'],
    ['Europe/Berlin', '2027-10-30T07:00Z', '2027-10-31T08:00Z'],
    ['America/New_York', '2027-03-13T14:00Z', '2027-03-14T13:00Z'],
    ['America/New_York', '2027-11-06T13:00Z', '2027-11-07T14:00Z'],
    ['Australia/Sydney', '2027-10-01T23:00Z', '2027-10-02T22:00Z'],
    ['Australia/Sydney', '2027-04-02T22:00Z', '2027-04-03T23:00Z'],
  ])('stay where they are on the clock of %s: %s, %s', (timeZone, before, after) => {
    const nine = { from: '09:00', to: '10:00' };

    for (const time of [before, after]) {
      expect([time, isDue(nine, timeZone, time)]).toEqual([time, true]);
      const earlier = new Date(Date.parse(time) - 1).toISOString();
      expect([earlier, isDue(nine, timeZone, earlier)]).toEqual([earlier, false]);
    }
  });
});

describe('cron', () => {
  const nightly = { cron: '30 2 * * *', for: '1h' };

  it('is due for a time, from a launch ahead', () => {
    const due = (time: string) => isDue(nightly, 'UTC', time, 120_000);

    expect(['02:27', '02:28', '03:29', '03:30'].map((time) => due(`2027-06-07T${time}Z`))).toEqual([
      ...[false, true, true, false],
    ]);
  });

  it('is for days of the week and of the month', () => {
    expect(isDue({ cron: '0 2 * * mon' }, 'UTC', '2027-06-07T02:10Z')).toBe(true);
    expect(isDue({ cron: '0 2 * * mon' }, 'UTC', '2027-06-08T02:10Z')).toBe(false);
    expect(isDue({ cron: '0 2 1 * *' }, 'UTC', '2027-06-01T02:10Z')).toBe(true);
  });

  // a run whose time the clock leaves out is an hour later by the old clock; a time that comes twice counts once
  it.each<[string, string, string, string]>([
    ['Europe/Berlin', '30 2 * * *', '2027-03-28T01:00Z', '2027-03-28T00:30Z'],
    ['Europe/Berlin', '30 2 * * *', '2027-10-31T00:30Z', '2027-10-31T01:45Z'],
    ['America/New_York', '30 2 * * *', '2027-03-14T07:00Z', '2027-03-14T06:30Z'],
    ['America/New_York', '30 1 * * *', '2027-11-07T05:30Z', '2027-11-07T06:45Z'],
    ['Australia/Sydney', '30 2 * * *', '2027-10-02T16:00Z', '2027-10-02T15:30Z'],
    ['Australia/Sydney', '30 2 * * *', '2027-04-03T15:30Z', '2027-04-03T16:45Z'],
  ])('comes once where clocks change: %s %s', (timeZone, cron, due, other) => {
    expect(isDue({ cron, for: '10m' }, timeZone, due)).toBe(true);
    expect(isDue({ cron, for: '10m' }, timeZone, other)).toBe(false);
  });

  it('is right when times are asked for in any order', () => {
    const due = (time: string) => isDue(nightly, 'UTC', `2027-06-${time}Z`);

    expect(['07T02:40', '01T02:40', '07T04:00', '09T02:40', '07T02:40'].map(due)).toEqual([
      ...[true, true, false, true, true],
    ]);
  });

  it.each([
    ['0 2 * * *', undefined],
    ['0 2 * *', 'expected five fields of cron such as "0 2 * * *": '],
    ['99 2 * * *', 'Invalid value for minute: 99'],
    ['0 0 2 * * *', 'remove the seconds, "0 2 * * *"'],
    ['0 2 30 2 *', '"0 2 30 2 *" never comes'],
  ])('says what is wrong with %s', (pattern, problem) => {
    const found = cronProblem(pattern);

    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});

it('is written for people', () => {
  const { schedule } =
    readStandby({
      schedule: [
        { nodes: 1, days: 'mon-fri', from: '07:00', to: 1_140 },
        { nodes: 1, cron: '0 2 * * *' },
      ],
    }) ?? {};

  expect(schedule?.map((each) => scheduleText(each, 'UTC'))).toEqual([
    'mon,tue,wed,thu,fri 07:00 to 19:00 (UTC)',
    'cron 0 2 * * * (UTC)',
  ]);
});
