import { expect, it } from 'vitest';
import { LabelDemand, SLOT_MS, slotOf } from './demand.js';
import { fitHours } from './fit.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Monday. */
const BEGIN_MS = Date.UTC(2027, 5, 7);
const SETTINGS = { timeZone: 'UTC', goal: 95, atMost: 100 };

/** The fit of four weeks in which requests come at these hours of days of work, each for so many nodes. */
function fitOf(nodesAt: (hour: number, isWork: boolean) => number, changes: Partial<typeof SETTINGS> = {}) {
  const demand = new LabelDemand();
  for (let at = 0; at < 28 * 24; at++) {
    const nodes = nodesAt(at % 24, Math.floor(at / 24) % 7 < 5);
    if (nodes > 0) demand.add({ atMs: BEGIN_MS + at * HOUR_MS + 60_000, nodes }, 120_000);
  }
  const now = slotOf(BEGIN_MS + 28 * DAY_MS);
  return fitHours(demand, () => true, now, { ...SETTINGS, ...changes });
}

it('keeps what the hours of days of work needed, and nothing on weekends without demand', () => {
  const fit = fitOf((hour, isWork) => (isWork && hour >= 9 && hour < 17 ? 3 : 0));
  const at = (day: number, hour: number) => fit(BEGIN_MS + (28 + day) * DAY_MS + hour * HOUR_MS);

  expect([at(0, 8), at(0, 9), at(0, 16), at(0, 17), at(5, 9)].map(({ nodes }) => nodes)).toEqual([0, 3, 3, 0, 0]);
  expect(at(0, 9)).toMatchObject({ requests: 1, isWeekend: false, hour: 9 });
  expect(at(5, 9)).toMatchObject({ requests: 0, isWeekend: true, hour: 9 });
});

it('goes by the clock of the time zone', () => {
  const fit = fitOf((hour) => (hour === 9 ? 2 : 0), { timeZone: 'Asia/Tokyo' });

  expect(fit(BEGIN_MS + 9 * HOUR_MS)).toMatchObject({ hour: 18, nodes: 2 });
});

it('leaves out what serves least for its hours', () => {
  // 1 of 100 requests comes alone in its hour
  const fit = fitOf((hour) => (hour === 3 ? 1 : 0), { goal: 50 });
  const rare = new LabelDemand();
  for (let day = 0; day < 28; day++) {
    for (let i = 0; i < 100; i++) rare.add({ atMs: BEGIN_MS + day * DAY_MS + 9 * HOUR_MS + i, nodes: 1 }, 1);
    rare.add({ atMs: BEGIN_MS + day * DAY_MS + 3 * HOUR_MS, nodes: 1 }, 1);
  }
  const busy = fitHours(rare, () => true, slotOf(BEGIN_MS + 28 * DAY_MS), SETTINGS);

  expect(fit(BEGIN_MS + 3 * HOUR_MS).nodes).toBe(1);
  expect([3, 9].map((hour) => busy(BEGIN_MS + hour * HOUR_MS).nodes)).toEqual([0, 1]);
});

it('keeps nodes for requests for many at once, up to the limit', () => {
  const many = (hour: number) => (hour === 9 ? 40 : 0);

  expect(fitOf(many)(BEGIN_MS + 9 * HOUR_MS).nodes).toBe(40);
  expect(fitOf(many, { atMost: 30 })(BEGIN_MS + 9 * HOUR_MS).nodes).toBe(0); // 30 serve none
});

it('knows nothing of slots that were not counted, and without demand', () => {
  const demand = new LabelDemand();
  demand.add({ atMs: BEGIN_MS, nodes: 1 }, 120_000);
  const now = slotOf(BEGIN_MS + DAY_MS);

  expect(fitHours(demand, () => false, now, SETTINGS)(BEGIN_MS)).toMatchObject({ nodes: 0, requests: 0 });
  expect(fitHours(demand, (slot) => slot * SLOT_MS >= BEGIN_MS, now, SETTINGS)(BEGIN_MS)).toMatchObject({
    ...{ nodes: 1, requests: 1 },
  });
});
