import { Random } from '@nodepool/core/testing';
import type { Arrival } from '@nodepool/history';
import type { Trace } from './traces.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Days on record before each month. */
const BEFORE = 28;
const YEAR = 2027;
const MONTHS = 12;
/** Holidays, as month and day. */
const HOLIDAYS: ReadonlySet<string> = new Set([
  ...['01-01', '03-26', '03-29', '05-01', '05-06', '05-17', '10-03', '10-31', '11-01'],
  ...['12-24', '12-25', '12-26', '12-27', '12-28', '12-29', '12-30', '12-31'],
]);
/** Share of the usual demand in each month: a slow January, a quiet summer. */
const SEASONS = [0.8, 1, 1.1, 1, 1, 0.9, 0.5, 0.4, 0.9, 1.1, 1.2, 0.9];
/** The demand at the end of the year, as a multiple of that at its beginning. */
const GROWTH = 1.8;
/** Requests an hour on a usual day of work, and at all other times. */
const BUSY = 50;
const CALM = 2;
/** On a release day, demand is several times as high for some hours; there is one about every three weeks. */
const RELEASES = { chance: 1 / 15, times: 4, hours: [2, 4] as const };
/** Days differ from each other by this factor up and down. */
const UNEVEN = 1.3;

/**
 * The demand for one label in each month of a year: days of work, weekends, holidays, seasons, growth, release days. A seed gives the
 * same year.
 */
export function syntheticMonths(seed: number): Trace[] {
  const beginMs = Date.UTC(YEAR, 0, 1) - BEFORE * DAY_MS;
  const endMs = Date.UTC(YEAR + 1, 0, 1);
  const random = new Random(seed);
  const arrivals: Arrival[] = [];
  for (let dayMs = beginMs; dayMs < endMs; dayMs += DAY_MS) arrivals.push(...arrivalsOf(dayMs, random));
  return Array.from({ length: MONTHS }, (_, month): Trace => {
    const [fromMs, toMs] = [Date.UTC(YEAR, month, 1), Date.UTC(YEAR, month + 1, 1)];
    return {
      ...{ name: new Date(fromMs).toISOString().slice(0, 7), beginMs: fromMs, endMs: toMs, seed },
      ...{ timeZone: 'UTC', bootMs: [80_000, 140_000] },
      arrivals: arrivals.filter(({ atMs }) => atMs >= fromMs - BEFORE * DAY_MS && atMs < toMs),
    };
  });
}

function arrivalsOf(dayMs: number, random: Random): Arrival[] {
  const date = new Date(dayMs);
  const isFree = date.getUTCDay() % 6 === 0 || HOLIDAYS.has(date.toISOString().slice(5, 10));
  const grown = GROWTH ** ((dayMs - Date.UTC(YEAR, 0, 1)) / (365 * DAY_MS));
  const scale = grown * (SEASONS[date.getUTCMonth()] ?? 1) * UNEVEN ** random.between(-1, 1);
  const isRelease = !isFree && random.chance(RELEASES.chance);
  const releaseAt = random.between(10, 15);
  const releaseTo = releaseAt + random.between(...RELEASES.hours);
  const arrivals: Arrival[] = [];
  for (let hour = 0; hour < 24; hour += 0.25) {
    const usual = !isFree && hour >= 9 && hour < 18 ? BUSY : CALM;
    const times = isRelease && hour >= releaseAt && hour < releaseTo ? RELEASES.times : 1;
    const everyMs = HOUR_MS / (usual * scale * times);
    const fromMs = dayMs + hour * HOUR_MS;
    for (let atMs = random.exponential(everyMs); atMs < HOUR_MS / 4; atMs += random.exponential(everyMs))
      arrivals.push({ atMs: fromMs + atMs, nodes: 1 });
  }
  return arrivals;
}
