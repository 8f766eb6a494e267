import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { linesAbout, loadWritten } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import { hostTimeZone, readKeep, readStandby } from './standby-settings.js';

const able = (stops: boolean) => ({
  capabilities: { launches: true, pausesAtQuota: true, managesImages: false, resumes: true, stops },
});
const saidOf = (standby: string, more = '', driver = plainDriver('plain', able(true))) =>
  linesAbout({
    yaml: `labels: [{name: a, standby: ${standby}${more}}]\nproviders: [{name: p, driver: plain, pools: [{name: main, labels: [{name: a}]}]}]\n`,
    ...{ env: {}, mode: 'validate', drivers: registryOf(driver) },
  });

describe('standby of a label', () => {
  const NONE = { schedule: [], auto: false, followMs: undefined, goal: undefined, atMost: 100, timeZone: 'UTC' };

  it('is auto, a schedule or the last time', () => {
    const read = (value: Json) => readStandby(value, 'UTC');

    expect(read('auto')).toEqual({ ...NONE, auto: true, followMs: 3_600_000, goal: 95 });
    expect(read({ auto: true, follow: '30m', goal: 90, 'at-most': 3 })).toEqual({
      ...{ ...NONE, auto: true, followMs: 1_800_000, goal: 90, atMost: 3 },
    });
    expect(read({ follow: 60, 'time-zone': 'Europe/Berlin' })).toEqual({
      ...{ ...NONE, followMs: 60_000, timeZone: 'Europe/Berlin' },
    });
    expect([read(null), read({ 'at-most': 3 }), read({ auto: false })]).toEqual([undefined, undefined, undefined]);
  });

  it('has hours of days of the week, and runs', () => {
    const schedule: Json[] = [
      { days: 'fri-mon', from: '07:30', to: 1_140, nodes: 6 },
      { cron: '0 2 * * *', nodes: 60, until: 'consumed', for: '2h' },
      { cron: '0 3 * * *', nodes: 1 },
    ];

    expect(readStandby({ schedule })?.schedule).toEqual([
      { kind: 'hours', nodes: 6, days: [5, 6, 0, 1], fromMinute: 450, toMinute: 1_140 },
      { kind: 'run', nodes: 60, cron: '0 2 * * *', forMs: 7_200_000, untilConsumed: true },
      { kind: 'run', nodes: 1, cron: '0 3 * * *', forMs: 3_600_000, untilConsumed: false },
    ]);
  });

  it('reads the goals of earlier releases as auto', () => {
    for (const old of [{ 'target-wait': '5s' }, { 'idle-budget': 20 }] as JsonObject[])
      expect(readStandby({ ...old, 'at-most': 30 }, 'UTC')).toEqual({
        ...{ ...NONE, auto: true, followMs: 3_600_000, goal: 95, atMost: 30 },
      });
  });

  it('takes the time zone of the file, else of the host', async () => {
    const yaml = (zone: string) => `${zone}\nlabels: [{name: a, standby: auto}]\n`;
    const zoneIn = async (zone: string) => (await loadWritten({ yaml: yaml(zone) })).labels.get('a')?.standby?.timeZone;

    expect(await zoneIn('time-zone: Asia/Tokyo')).toBe('Asia/Tokyo');
    expect(await zoneIn('')).toBe(hostTimeZone());
  });

  it('keeps its nodes stopped when it says so', () => {
    expect([readKeep({ keep: 'stopped' }), readKeep({ keep: 'running' }), readKeep({})]).toEqual([
      ...['stopped', undefined, undefined],
    ]);
  });

  it('cannot keep them stopped where the driver cannot stop them', async () => {
    const said = await saidOf('{keep: stopped}', '', plainDriver('plain', able(false)));
    const static_ = await saidOf('{keep: stopped}', '', plainDriver('plain'));

    expect(said.join('\n')).toContain('label "a" has "keep: stopped", and driver "plain" cannot stop nodes');
    expect(said.join('\n')).toContain(':2:');
    expect(static_.join('\n')).toContain('driver "plain" cannot stop nodes');
  });

  it.each([
    ['auto', '', undefined],
    ['{auto: true, at-most: 4}', '', undefined],
    ['{follow: 1h}', '', undefined],
    ['{schedule: [{from: 07:00, to: 19:00, nodes: 6}]}', '', undefined],
    ['{schedule: [{days: "mon-fri, sun", nodes: 6}], time-zone: UTC}', '', undefined],
    ['{schedule: [{cron: 0 2 * * *, nodes: 60, until: consumed, for: 30m}]}', '', undefined],
    ['{keep: stopped}', '', undefined],
    ['{keep: stopped, at-most: 3}', '', undefined],
    ['automatic', '', /^[^\n]*expected auto, or a map[^\n]*$/],
    ['{follow: soon}', '', 'a duration such as 90s, 10m or 1h30m'],
    ['{keep: frozen}', '', 'labels[0].standby.keep'],
    ['{at-most: 3}', '', 'standby says no number: write `standby: auto`, or schedule or follow'],
    ['{auto: true, goal: 100}', '', 'labels[0].standby.goal'],
    ['{follow: 1h, time-zone: Berlin}', '', '"Berlin" is no time zone: write its IANA name'],
    ['{schedule: [{nodes: 6}]}', '', 'this says no time: write days, from and to, or cron'],
    ['{schedule: [{days: mon-fri}]}', '', 'labels[0].standby.schedule[0]: the key "nodes" is missing'],
    ['{schedule: [{days: monday, nodes: 6}]}', '', 'days of the week in small letters, such as mon-fri'],
    ['{schedule: [{from: 7, to: 19:00, nodes: 6}]}', '', 'expected a time of day such as 07:00 or 19:30'],
    ['{schedule: [{from: "25:00", to: 19:00, nodes: 6}]}', '', 'expected a time of day such as 07:00 or 19:30'],
    ['{schedule: [{cron: 0 2 * *, nodes: 6}]}', '', 'labels[0].standby.schedule[0].cron: expected five fields of cron'],
    ['{schedule: [{cron: 0 2 * * *, days: mon, nodes: 6}]}', '', 'cron says when: remove days, or cron'],
    ['{schedule: [{days: mon, until: consumed, nodes: 6}]}', '', 'until is for cron'],
    ['{target-wait: 5s}', '', 'warning: target-wait is read as auto: write `standby: auto`, or a schedule'],
    ['{idle-budget: 9}', '', 'warning: idle-budget is read as auto'],
    ['auto', ', min-ready: -1', 'min-ready -1 switches the label off, so standby has no effect: remove one of them'],
    ['{auto: true, at-most: 4}', ', min-ready: 5', 'at-most 4 is below 5, which min-ready or the schedule says'],
    ['{schedule: [{days: mon, nodes: 6}], at-most: 4}', '', 'at-most 4 is below 6'],
    ['{auto: true, at-most: 0}', '', 'at-most 0 keeps no standby node'],
    ['{target: 5}', '', 'labels[0].standby.target'],
  ])('%s%s', async (standby, more, problem) => {
    const said = await saidOf(standby, more);

    if (problem === undefined) expect(said).toEqual([]);
    else if (problem instanceof RegExp) expect(said.join('\n')).toMatch(problem);
    else expect(said.join('\n')).toContain(problem);
  });
});
