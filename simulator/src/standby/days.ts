import { Random } from '@nodepool/core/testing';
import type { Arrival } from '@nodepool/history';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Days recorded before the one that is measured. */
const BEFORE = 28;
/** Monday 2027-01-04, 00:00 UTC. */
const MONDAY_MS = Date.UTC(2027, 0, 4);

/** The demand for one label on one day, and on the four weeks before. */
export interface SyntheticDay {
  readonly name: string;
  readonly arrivals: readonly Arrival[];
  /** Midnight at which the measured day begins; the history began 28 days earlier. */
  readonly beginMs: number;
  readonly endMs: number;
  /** When the cloud launches nothing. */
  readonly outage: { readonly fromMs: number; readonly toMs: number } | undefined;
  readonly seed: number;
}

interface Kind {
  readonly name: string;
  /** Day of the week that is measured, Monday 0. Default: Tuesday. */
  readonly weekday?: number;
  /** Requests an hour. @param day - 0 is the measured day, -1 the one before */
  readonly perHour: (day: number, hour: number, weekday: number) => number;
  /** Requests that arrive together: their hour and number. */
  readonly batch?: { readonly hour: number; readonly nodes: number };
  /** Hours of the measured day. */
  readonly outage?: readonly [number, number];
}

const isBusy = (hour: number, weekday: number) => weekday < 5 && hour >= 9 && hour < 18;
const office = (hour: number, weekday: number, busy = 60) => (isBusy(hour, weekday) ? busy : 2);

const KINDS: readonly Kind[] = [
  { name: 'office hours', perHour: (_, hour, weekday) => office(hour, weekday) },
  { name: 'nightly batch', perHour: () => 3, batch: { hour: 2, nodes: 40 } },
  {
    name: 'release-day burst',
    perHour: (day, hour, weekday) => (day === 0 && hour >= 14 && hour < 16 ? 240 : office(hour, weekday)),
  },
  { name: 'weekend', weekday: 5, perHour: (_, hour, weekday) => office(hour, weekday) },
  { name: 'growth', perHour: (day, hour, weekday) => office(hour, weekday, 80 * 2 ** (day / 14)) },
  { name: 'cloud outage', perHour: (_, hour, weekday) => office(hour, weekday), outage: [11, 12] },
  { name: 'new label', perHour: (day, hour, weekday) => (day < 0 || hour < 9 ? 0 : office(hour, weekday, 40)) },
  { name: 'pure noise', perHour: () => 20 },
  { name: 'step change', perHour: (day, hour, weekday) => office(hour, weekday) * (day === 0 && hour >= 12 ? 3 : 1) },
  { name: 'slow drift', perHour: (day, hour, weekday) => office(hour - day / 14, weekday) },
];

/** Ten days of different kinds; a seed gives the same days. */
export function syntheticDays(seed: number): SyntheticDay[] {
  return KINDS.map((kind, at) => makeDay(kind, seed * 100 + at));
}

function makeDay(kind: Kind, seed: number): SyntheticDay {
  const random = new Random(seed);
  const beginMs = MONDAY_MS + (BEFORE + (kind.weekday ?? 1)) * DAY_MS;
  const arrivals: Arrival[] = [];
  for (let day = -BEFORE; day <= 0; day++) {
    const weekday = ((kind.weekday ?? 1) + day + 7 * BEFORE) % 7;
    const midnightMs = beginMs + day * DAY_MS;
    for (let hour = 0; hour < 24; hour += 0.25) arriveIn(hour, kind.perHour(day, hour, weekday));
    if (kind.batch) arriveTogether(midnightMs + kind.batch.hour * HOUR_MS, kind.batch.nodes);

    function arriveIn(hour: number, perHour: number): void {
      for (let atMs = next(0); atMs < HOUR_MS / 4; atMs = next(atMs))
        arrivals.push({ atMs: midnightMs + hour * HOUR_MS + atMs, nodes: 1 });
      function next(fromMs: number): number {
        return perHour > 0 ? fromMs + random.exponential(HOUR_MS / perHour) : Infinity;
      }
    }
  }
  function arriveTogether(atMs: number, nodes: number): void {
    const lateMs = random.between(0, 10 * 60_000);
    for (let i = 0; i < nodes; i++) arrivals.push({ atMs: atMs + lateMs + i * 500, nodes: 1 });
  }
  arrivals.sort((a, b) => a.atMs - b.atMs);
  const [from, to] = kind.outage ?? [];
  return {
    ...{ name: kind.name, arrivals, beginMs, endMs: beginMs + DAY_MS, seed },
    outage:
      from === undefined || to === undefined
        ? undefined
        : { fromMs: beginMs + from * HOUR_MS, toMs: beginMs + to * HOUR_MS },
  };
}
