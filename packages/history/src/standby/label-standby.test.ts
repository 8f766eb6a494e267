import type { StandbySettings } from '@nodepool/core/config';
import { beforeEach, describe, expect, it } from 'vitest';
import { SLOT_MS, slotOf } from './demand.js';
import { LabelStandby } from './label-standby.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A Monday, 00:00. */
const NOW_MS = Date.UTC(2027, 5, 7);
const SETTINGS: StandbySettings = {
  ...{ schedule: [], auto: false, followMs: undefined, goal: 95, atMost: 100, timeZone: 'UTC' },
};
const AUTO = { ...SETTINGS, auto: true, followMs: HOUR_MS };
const RUN = { kind: 'run', nodes: 60, cron: '0 2 * * *', forMs: HOUR_MS, untilConsumed: true } as const;

let known: Set<number>;
let label: LabelStandby;
beforeEach(() => {
  known = new Set();
  label = new LabelStandby(known);
  label.counts(NOW_MS - 28 * DAY_MS);
});

/** Decides at a time of the day. */
const decide = (settings: StandbySettings, { atMs = NOW_MS, minReady = 1, free = 0 } = {}) =>
  label.decide(atMs, { settings, minReady, free });
const at = (hour: number, minute = 0) => NOW_MS + hour * HOUR_MS + minute * MINUTE_MS;
const ask = (atMs: number, nodes = 1) => label.asked({ atMs, nodes });

/** Six requests in each hour from 9 to 17 of each day of work, up to this time. */
function record(fromMs = NOW_MS - 28 * DAY_MS, toMs = NOW_MS): void {
  for (let slot = slotOf(fromMs); slot < slotOf(toMs); slot++) {
    known.add(slot);
    const date = new Date(slot * SLOT_MS);
    if (date.getUTCDay() % 6 === 0 || date.getUTCHours() < 9 || date.getUTCHours() >= 17) continue;
    for (const ms of [0, 30_000]) ask(slot * SLOT_MS + ms);
  }
}

describe('a schedule', () => {
  const office = { kind: 'hours', nodes: 6, days: [1, 2, 3, 4, 5], fromMinute: 420, toMinute: 1_140 } as const;

  it('is kept during its hours, and min-ready at all times', () => {
    const settings = { ...SETTINGS, schedule: [office] };

    expect(decide(settings, { atMs: at(6) })).toEqual({ nodes: 1, reason: 'min-ready 1', isFallback: false });
    expect(decide(settings, { atMs: at(7) })).toEqual({
      ...{ nodes: 6, isFallback: false },
      reason: 'the schedule says 6: mon,tue,wed,thu,fri 07:00 to 19:00 (UTC); min-ready 1',
    });
    expect(decide(settings, { atMs: at(7), minReady: 9 }).nodes).toBe(9);
  });

  it('begins the usual time of a launch ahead, and a minute', () => {
    const settings = { ...SETTINGS, schedule: [office] };
    for (let i = 0; i < 10; i++) label.booted(5 * MINUTE_MS);

    expect(
      [decide(settings, { atMs: at(6, 53) }), decide(settings, { atMs: at(6, 54) })].map(({ nodes }) => nodes),
    ).toEqual([...[1, 6]]);
  });

  it('does not replace what was taken of a run', () => {
    const settings = { ...SETTINGS, schedule: [RUN] };
    const before = decide(settings, { atMs: at(1), minReady: 0 });
    const begun = decide(settings, { atMs: at(1, 58), minReady: 0 });
    for (let i = 0; i < 25; i++) ask(at(2) + i * 1_000, 2);
    const during = decide(settings, { atMs: at(2, 1), minReady: 0, free: 10 });
    ask(at(2, 2), 40);
    const consumed = decide(settings, { atMs: at(2, 3), minReady: 0 });
    const next = decide(settings, { atMs: at(26), minReady: 0 });

    expect([before, begun, during, consumed, next].map(({ nodes }) => nodes)).toEqual([0, 60, 10, 0, 60]);
    expect(during.reason).toBe('the schedule says 60: cron 0 2 * * * (UTC), of which 50 are taken');
    expect(before.reason).toBe('nothing asks for one now');
  });

  it.each([
    [RUN, at(1, 57), 60],
    [office, at(6, 57), 6],
  ])('stays begun when launches turn out to be quick', (scheduled, atMs, nodes) => {
    const settings = { ...SETTINGS, schedule: [scheduled] };
    const before = decide(settings, { atMs });
    for (let i = 0; i < 10; i++) label.booted(3_000);

    expect([before, decide(settings, { atMs: atMs + 1_000 })].map((level) => level.nodes)).toEqual([nodes, nodes]);
  });

  it.each([RUN, office])('ends when the clock goes back by hours: %o', (scheduled) => {
    const settings = { ...SETTINGS, schedule: [scheduled] };
    const begun = decide(settings, { atMs: at(7) - (scheduled === RUN ? 5 : 0) * HOUR_MS });

    expect(begun.nodes).toBe(scheduled.nodes);
    expect(decide(settings, { atMs: at(0), minReady: 0 }).nodes).toBe(0);
  });

  it('keeps what was taken of a run when its number of nodes is edited', () => {
    decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2) });
    ask(at(2, 1), 50);
    const edited = (nodes: number) =>
      decide({ ...SETTINGS, schedule: [{ ...RUN, nodes }] }, { atMs: at(2, 2), minReady: 0 });

    expect([80, 40, 60].map((nodes) => edited(nodes).nodes)).toEqual([30, 0, 10]);
    ask(at(2, 3), 4);
    expect(edited(60).reason).toContain('of which 54 are taken');
  });

  it('takes the nodes of the larger one where two runs have one time', () => {
    const settings = { ...SETTINGS, schedule: [RUN, { ...RUN, nodes: 20 }] };
    decide(settings, { atMs: at(2) });
    ask(at(2, 1), 50);

    expect(decide(settings, { atMs: at(2, 2), minReady: 0 }).nodes).toBe(10);
  });

  it.each(['removed', 'edited'])('takes nothing of a run that was %s', (what) => {
    const schedule = what === 'removed' ? [] : [{ ...RUN, cron: '0 4 * * *' }];
    const settings = { ...SETTINGS, followMs: HOUR_MS, schedule };
    decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2) });
    decide(settings, { atMs: at(2, 1) });
    ask(at(2, 2), 9);

    expect(decide(settings, { atMs: at(2, 3) }).nodes).toBe(9);
  });

  it('makes all nodes of a run if the launcher starts before it', () => {
    label = new LabelStandby(known);
    label.counts(at(1, 58));

    expect(decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(1, 58), minReady: 0 }).nodes).toBe(60);
  });

  it('says what is consumed', () => {
    decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2) });
    ask(at(2, 1), 60);

    expect(decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2, 2), minReady: 0 })).toEqual({
      ...{ nodes: 0, isFallback: false },
      reason: 'the schedule says 60: cron 0 2 * * * (UTC), of which 60 are taken',
    });
  });

  it('replaces nothing of a run that began before requests were counted', () => {
    label = new LabelStandby(known);
    label.counts(at(2, 10));

    const first = decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2, 10), minReady: 0, free: 7 });
    ask(at(2, 11), 3);

    expect(first).toMatchObject({
      nodes: 7,
      reason: expect.stringMatching(/, or were not there when the launcher started$/) as unknown,
    });
    expect(decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2, 12), minReady: 0, free: 4 }).nodes).toBe(4);
  });

  it('ends with its time, consumed or not', () => {
    expect(decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(2, 59), minReady: 0 }).nodes).toBe(60);
    expect(decide({ ...SETTINGS, schedule: [RUN] }, { atMs: at(3), minReady: 0 }).nodes).toBe(0);
  });
});

describe('the last time', () => {
  const settings = { ...SETTINGS, followMs: HOUR_MS };

  it('keeps the most nodes that requests needed at once', () => {
    ask(at(9), 4);
    ask(at(9, 1), 3);

    expect(decide(settings, { atMs: at(9, 30) })).toEqual({
      ...{ nodes: 7, isFallback: false },
      reason: 'requests needed 7 at once during the last 1 h 0 min; min-ready 1',
    });
    expect(decide(settings, { atMs: at(10, 31) }).nodes).toBe(1);
  });

  it('is known after a restart', () => {
    label.restore(slotOf(at(9)), [0, 0, 2]);

    expect(decide(settings, { atMs: at(9, 30) }).nodes).toBe(3);
  });

  it('is known after a restart without what runs were for', () => {
    label.restore(slotOf(at(9)), [0, 0, 2], [1]);

    expect(decide(settings, { atMs: at(9, 30) }).nodes).toBe(1);
  });

  it('is four weeks at most, however long the file says', () => {
    const longer = { ...SETTINGS, followMs: 1e15 };
    ask(at(9), 4);
    const beganMs = performance.now();

    expect(decide(longer, { atMs: at(9, 30) }).nodes).toBe(4);
    expect(performance.now() - beganMs).toBeLessThan(1_000);
    expect(decide(longer, { atMs: at(29 * 24 + 9) }).nodes).toBe(1);
  });

  it('does not count what a run was for', () => {
    const both = { ...settings, schedule: [RUN] };
    decide(both, { atMs: at(2) });
    ask(at(2, 1), 60);
    ask(at(2, 2), 2);

    expect(decide(both, { atMs: at(2, 3) }).nodes).toBe(2);
  });

  it('is limited', () => {
    ask(at(9), 40);

    const { nodes, reason } = decide({ ...settings, atMost: 9 }, { atMs: at(9, 1) });
    expect([nodes, reason]).toEqual([9, expect.stringContaining('at-most is 9')]);
  });
});

describe('auto', () => {
  it('keeps what fits the hour, and says so', () => {
    record();

    expect(decide(AUTO, { atMs: at(8), minReady: 5 })).toEqual({
      nodes: 0,
      isFallback: false,
      reason: 'nothing asks for one now',
    });
    expect(decide(AUTO, { atMs: at(9), minReady: 5 })).toEqual({
      ...{ nodes: 2, isFallback: false },
      reason: '2 fit 9:00 on days of work in UTC, for 95 of 100 requests at once',
    });
    expect(decide(AUTO, { atMs: at(5 * 24 + 9), minReady: 5 }).nodes).toBe(0);
  });

  it('follows the last hour', () => {
    record();
    ask(at(8), 9);

    expect(decide(AUTO, { atMs: at(8, 30) }).nodes).toBe(9);
  });

  it('keeps one when demand stops', () => {
    record(undefined, at(9));
    for (let slot = slotOf(at(9)); slot < slotOf(at(12)); slot++) known.add(slot);

    expect(decide(AUTO, { atMs: at(12) })).toEqual({
      ...{ nodes: 1, isFallback: false },
      reason: 'only 0 of 15 usual requests came in two hours',
    });
  });

  it('does not take a time in which nothing was counted for silence', () => {
    record(undefined, at(9));

    expect(decide(AUTO, { atMs: at(12) }).nodes).toBe(2);
  });

  it.each<[string, () => void, string]>([
    ['nothing is on record', () => undefined, 'demand is on record for less than 1 h 0 min'],
    ['the record has just begun', () => record(NOW_MS - 3 * SLOT_MS), 'demand is on record for less than 1 h 0 min'],
    [
      'the label is rarely asked for',
      () => record(NOW_MS - 2 * DAY_MS),
      'only 0 requests are on record, and 20 are needed',
    ],
    [
      'the clock went back',
      () => record(NOW_MS - 7 * DAY_MS, NOW_MS + DAY_MS),
      'the newest recorded demand is of 2027-06-07 23:45 UTC, but it is 2027-06-07 00:00 UTC: the clock has jumped',
    ],
  ])('is min-ready when %s', (_what, make, reason) => {
    make();

    expect(decide(AUTO, { minReady: 3 })).toEqual({
      ...{ nodes: 3, isFallback: true },
      reason: `min-ready 3; nothing is fitted yet, as ${reason}`,
    });
  });

  it('is fitted again an hour after a clock that was ahead went back', () => {
    record(undefined, NOW_MS - DAY_MS);
    for (let slot = slotOf(at(48)); slot < slotOf(at(50)); slot++) known.add(slot);
    const lacks = [0, 1, 2, 3, 4].map((slot) => {
      if (slot > 0) known.add(slotOf(NOW_MS) + slot - 1);
      return decide(AUTO, { atMs: NOW_MS + slot * SLOT_MS }).isFallback;
    });

    expect(lacks).toEqual([true, true, true, true, false]);
    expect(decide(AUTO, { atMs: at(9) }).nodes).toBe(2);
  });

  it('keeps its record when the clock is ahead for a while', () => {
    record();
    decide(AUTO, { atMs: at(8) });

    for (const day of [400, 401]) ask(at(day * 24));
    for (let slot = 0; slot < 4; slot++) decide(AUTO, { atMs: at(400 * 24) + slot * SLOT_MS });

    expect(decide(AUTO, { atMs: at(9) })).toMatchObject({ nodes: 2, isFallback: false });
  });

  it('is fitted again with other settings', () => {
    record();

    expect([AUTO, { ...AUTO, atMost: 1 }].map((settings) => decide(settings, { atMs: at(9) }).nodes)).toEqual([2, 1]);
  });
});

it('takes the third quartile of the last 50 launches for the usual time', () => {
  for (let i = 0; i < 60; i++) label.booted(i < 30 ? 100_000 : 3_000);

  expect(label.bootMs).toBe(100_000); // 20 of the last 50
  for (let i = 0; i < 30; i++) label.booted(3_000);
  expect(label.bootMs).toBe(3_000);
});
