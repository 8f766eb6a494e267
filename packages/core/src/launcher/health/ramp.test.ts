import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newLaunch } from '../../../test/support/steering-at.js';
import type { Launch } from '../state/events.js';
import { Ramp, RAMP, BootTimes } from './ramp.js';

import '../../../test/support/same-examples.js';

const USUAL_MS = 40_000;

function begin(ramp: Ramp): Launch {
  const launch = newLaunch('small');
  ramp.launchBegun(launch);
  return launch;
}

/** A provider with a clock of its own, of which is known how long its machines take. */
function setUp() {
  const time = { now: 1_000_000 };
  const ramp = new Ramp({ now: () => time.now });
  const run = (count: number, tookMs: number) => {
    const launches = Array.from({ length: count }, () => begin(ramp));
    time.now += tookMs;
    for (const launch of launches) ramp.launchEnded(launch, true);
  };
  const fail = (launch: Launch) => {
    ramp.attemptFailed(launch);
    ramp.launchEnded(launch, false);
  };
  for (let i = 0; i < 4; i++) {
    run(5, USUAL_MS);
    time.now += 600_000;
  }
  return { time, ramp, run, fail };
}

describe('launches at once', () => {
  it('are twice as many with each round that takes its usual time', () => {
    const { ramp, run } = setUp();

    const limits = Array.from({ length: 3 }, () => {
      run(ramp.limit, USUAL_MS);
      return ramp.limit;
    });

    expect(limits[0]).toBeGreaterThan(RAMP.start * 1.9);
    expect(limits[2]).toBeGreaterThan(RAMP.start * 5);
  });

  it('are no more than at first when so many are not wanted', () => {
    const { ramp, run } = setUp();

    for (let i = 0; i < 50; i++) run(20, USUAL_MS);

    expect(ramp.limit).toBe(RAMP.start);
  });

  it('fall once for a round that takes longer, with the reason', () => {
    const { ramp, run } = setUp();

    run(100, 95_000);

    expect(ramp.report()).toEqual({ limit: 70, why: 'launches of "small" took 95 s instead of 40 s' });
  });

  it('fall when failures become more, and not by those of launches begun before', () => {
    const { ramp, fail } = setUp();
    const herd = Array.from({ length: 50 }, () => begin(ramp));

    herd.forEach(fail);

    expect(ramp.limit).toBeGreaterThanOrEqual(Math.floor(48 * RAMP.shrink));
    expect(ramp.report().why).toMatch(/% of the last launches failed$/);
  });

  it('are measured from the moment the cloud has begun', () => {
    const { ramp, time } = setUp();
    const herd = Array.from({ length: 100 }, () => begin(ramp));

    time.now += 600_000; // e.g. the rate of calls
    for (const launch of herd) ramp.instanceCreated(launch);
    time.now += USUAL_MS;
    for (const launch of herd) ramp.launchEnded(launch, true);

    expect(ramp.report().why).toBeUndefined();
  });

  it('are no fewer where machines take seconds more than usual', () => {
    const time = { now: 0 };
    const ramp = new Ramp({ now: () => time.now });
    for (const took of [100, RAMP.lateMs]) {
      const herd = Array.from({ length: 100 }, () => begin(ramp));
      time.now += took;
      for (const launch of herd) ramp.launchEnded(launch, true);
    }

    expect(ramp.limit).toBeGreaterThanOrEqual(RAMP.start);
  });

  it('are again as many as at first an hour after the last sign', () => {
    const { ramp, run, time } = setUp();
    for (let i = 0; i < 20; i++) run(ramp.limit, 95_000);
    const low = ramp.limit;

    time.now += RAMP.forgetMs;

    expect(low).toBeLessThan(RAMP.start / 2);
    expect(ramp.report()).toEqual({ limit: RAMP.start, why: undefined });
  });

  it('are as many as before within ten rounds when a slow time is over', () => {
    const { ramp, run } = setUp();
    for (let i = 0; i < 10; i++) run(ramp.limit, 200_000);
    const low = ramp.limit;

    for (let i = 0; i < 10; i++) run(ramp.limit, USUAL_MS);

    expect(low).toBe(RAMP.least);
    expect(ramp.limit).toBeGreaterThanOrEqual(RAMP.start);
  });

  it('are never fewer than the least, fall by a part at most once a round, and rise only when all goes well', () => {
    const step = fc.record({
      more: fc.nat(40),
      wait: fc.nat(400_000),
      end: fc.nat(40),
      how: fc.constantFrom('ready', 'failed', 'gone' as const),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const time = { now: 0 };
        const ramp = new Ramp({ now: () => time.now });
        const underWay: Launch[] = [];
        for (const { more, wait, end, how } of steps) {
          for (let i = 0; i < more; i++) underWay.push(begin(ramp));
          time.now += wait;
          for (const launch of underWay.splice(0, end)) {
            const before = ramp.limit;
            if (how === 'failed') ramp.attemptFailed(launch);
            ramp.launchEnded(launch, how === 'ready');
            expect(ramp.limit).toBeGreaterThanOrEqual(RAMP.least);
            if (how !== 'ready') expect(ramp.limit).toBeLessThanOrEqual(before);
            if (how === 'gone') expect(ramp.limit).toBe(before);
          }
        }
      }),
    );
  });

  it('rise with every run of launches that take their usual time, whatever was before', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (isSlow) => {
        const { ramp, run } = setUp();
        for (const slow of isSlow) run(ramp.limit, slow ? 95_000 : USUAL_MS);
        const before = ramp.limit;
        for (let i = 0; i < 4; i++) run(ramp.limit, USUAL_MS);
        expect(ramp.limit).toBeGreaterThan(before);
      }),
    );
  });
});

import '../../../test/support/same-examples.js';

const INTERVAL_MS = 600_000;

/** Machines of each interval, in ms. */
function timesOf(intervals: readonly (readonly number[])[]): BootTimes {
  const times = new BootTimes();
  for (const [i, interval] of intervals.entries()) for (const took of interval) times.note(took, i * INTERVAL_MS);
  return times;
}

const many = (took: number, count: number) => Array.from({ length: count }, () => took);

describe('what is usual', () => {
  it('is not known before a machine was ready', () => {
    expect(new BootTimes().usualMs).toBeUndefined();
  });

  it('is not changed by a herd within one interval, however large', () => {
    expect(timesOf([[...many(40_000, 32), ...many(400_000, 1_000)], many(41_000, 1)]).usualMs).toBe(40_000);
  });

  it('is not changed by an hour of slow machines in an afternoon of others', () => {
    const intervals = [
      ...many(40_000, 7).map((took) => many(took, 20)),
      ...many(90_000, 6).map((took) => many(took, 20)),
    ];

    expect(timesOf(intervals).usualMs).toBe(40_000);
  });

  it('follows an image that boots slower permanently', () => {
    const intervals = [
      ...many(40_000, 12).map((took) => many(took, 5)),
      ...many(90_000, 8).map((took) => many(took, 5)),
    ];

    expect(timesOf(intervals).usualMs).toBe(90_000);
  });

  it('is always a time that was seen', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 50 }), { minLength: 1 }),
        (intervals) => {
          expect(intervals.flat()).toContain(timesOf(intervals).usualMs);
        },
      ),
    );
  });
});
