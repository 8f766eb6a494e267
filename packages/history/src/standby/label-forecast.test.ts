import { beforeEach, describe, expect, it } from 'vitest';
import { SLOT_MS } from './demand.js';
import { LabelForecast } from './label-forecast.js';

const GOAL = { targetWaitMs: 5_000, atMost: 10 };
const WEEK = 7 * 96;
const NOW = 5 * WEEK;
const NOW_MS = NOW * SLOT_MS;

let known: Set<number>;
let forecast: LabelForecast;

beforeEach(() => {
  known = new Set();
  forecast = new LabelForecast(known);
});

/** Two requests each quarter of an hour, a minute apart, since this slot. */
function ask(from: number, to = NOW): void {
  for (let slot = from; slot < to; slot++) {
    known.add(slot);
    for (const ms of [0, 60_000]) forecast.asked({ atMs: slot * SLOT_MS + ms, nodes: 1 });
  }
}

describe('a forecast', () => {
  it('says what it expects and why it keeps no further node', () => {
    ask(0);

    const { nodes, reason, isFallback } = forecast.decide(NOW_MS, GOAL, 1);

    expect([nodes, isFallback]).toEqual([2, false]);
    expect(reason).toMatch(
      /^8 requests an hour expected from 1970-02-05 00:00 UTC \(5 windows: this time of the week, the last hour\); /,
    );
    expect(reason).toContain('a launch takes 2 min 0 s; 2 standby nodes serve 100 of 100 requests at once');
    expect(reason).toContain('node 2 spares 4 waits an hour and is idle 87 % of the time');
    expect(reason).toContain('node 3 spares 0 waits an hour and would be idle 100 % of the time');
    expect(reason).toMatch(/for target-wait 5\.0 s, a spared wait may cost 0\.\d+ idle node-hours$/);
  });

  it('names the limit that it meets', () => {
    ask(0);

    expect(forecast.decide(NOW_MS, { ...GOAL, atMost: 1 }, 1)).toMatchObject({
      nodes: 1,
      reason: expect.stringContaining('at-most is 1') as string,
    });
  });

  it('keeps no node where a launch is as fast as the target', () => {
    for (let i = 0; i < 60; i++) forecast.booted(i < 30 ? 100_000 : 3_000);
    ask(0);

    expect(forecast.bootMs).toBe(100_000); // 20 of the last 50
    for (let i = 0; i < 30; i++) forecast.booted(3_000);

    expect(forecast.decide(NOW_MS, GOAL, 1)).toEqual({
      ...{ nodes: 0, isFallback: false },
      reason: 'a launch takes 3.0 s, within target-wait 5.0 s',
    });
  });

  it('gives the same answer to the same question', () => {
    ask(0);

    expect(forecast.decide(NOW_MS + 1, GOAL, 1)).toBe(forecast.decide(NOW_MS, GOAL, 1));
  });
});

describe('without a forecast min-ready applies', () => {
  it.each<[string, () => void, string]>([
    ['nothing is on record', () => undefined, 'demand is on record for less than 1 h 0 min'],
    ['the record has just begun', () => ask(NOW - 3), 'demand is on record for less than 1 h 0 min'],
    ['the label is rarely asked for', () => ask(NOW - 9), 'only 18 requests are on record, and a forecast needs 20'],
    [
      'the clock went back',
      () => ask(NOW - WEEK, NOW + 96),
      'the newest recorded demand is of 1970-02-05 23:45 UTC, but it is 1970-02-05 00:00 UTC: the clock has jumped',
    ],
  ])('as %s', (_what, record, reason) => {
    record();

    expect(forecast.decide(NOW_MS, GOAL, 3)).toEqual({
      nodes: 3,
      reason: `min-ready 3, as ${reason}`,
      isFallback: true,
    });
  });

  it('until the clock is where the record ends', () => {
    ask(0, NOW + 96);

    expect(forecast.decide(NOW_MS + 96 * SLOT_MS, GOAL, 3).isFallback).toBe(false);
  });
});
