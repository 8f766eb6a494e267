import { Random } from '@nodepool/core/testing';
import { localTimeOf } from '@nodepool/core/config';
import type { Arrival } from '@nodepool/history';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Recorded before the time that is measured. */
const BEFORE_DAYS = 28;
const BERLIN = 'Europe/Berlin';

/** The demand for one label during the time that is measured, and on the four weeks before. */
export interface Trace {
  readonly name: string;
  readonly arrivals: readonly Arrival[];
  /** The history begins 28 days earlier. */
  readonly beginMs: number;
  readonly endMs: number;
  readonly timeZone: string;
  /** The shortest and the longest launch. */
  readonly bootMs: readonly [number, number];
  readonly seed: number;
}

/** A moment at which requests may come. */
interface Hour {
  /** Of the day, by the local clock. */
  readonly hour: number;
  readonly isWork: boolean;
  /** Days since the measured time began; negative before. */
  readonly day: number;
}

interface Kind {
  readonly name: string;
  readonly beginMs: number;
  /** Days that are measured. Default: 14. */
  readonly days?: number;
  readonly timeZone?: string;
  readonly bootMs?: readonly [number, number];
  /** Requests an hour. */
  readonly perHour?: (hour: Hour) => number;
  /** Nodes of one request. Default: 1. */
  readonly nodes?: (random: Random) => number;
  /** Jobs that come together each day at a local hour; `undefined` on a day: none. */
  readonly run?: (day: Hour, random: Random) => { readonly hour: number; readonly nodes: number } | undefined;
}

const isBusy = ({ hour, isWork }: Hour, from = 8, to = 18) => isWork && hour >= from && hour < to;
const office = (at: Hour, busy: number, calm = busy / 30) => (isBusy(at) ? busy : calm);
const SEPTEMBER = Date.UTC(2027, 8, 6);

/** Bursts, jobs at night, changes of clocks, quiet labels, a shutdown, work around the clock: none is smooth. */
const KINDS: readonly Kind[] = [
  {
    ...{ name: 'pipelines of 20 to 80 nodes', beginMs: SEPTEMBER },
    ...{ perHour: (at) => office(at, 1.5, 0), nodes: (random) => random.int(20, 80) },
  },
  {
    ...{ name: 'matrices of 80 developers', beginMs: SEPTEMBER },
    ...{ perHour: (at) => office(at, 25), nodes: (random) => random.int(4, 12) },
  },
  {
    ...{ name: 'nightly jobs, clocks change', beginMs: Date.UTC(2027, 2, 22) },
    run: () => ({ hour: 2, nodes: 60 }),
  },
  { name: 'quiet label', beginMs: SEPTEMBER, perHour: (at) => office(at, 0.3, 0) },
  {
    ...{ name: 'shutdown at Christmas', beginMs: Date.UTC(2027, 11, 20) },
    perHour: (at) => office(at, 40) * (at.day >= 3 ? 0.02 : 1),
  },
  {
    ...{ name: 'release week', beginMs: SEPTEMBER },
    perHour: (at) => office(at, 40) * (at.day >= 0 && at.day < 7 ? 4 : 1),
  },
  {
    ...{ name: 'renamed label', beginMs: SEPTEMBER },
    perHour: (at) => (at.day < 0 ? 0 : office(at, 40)),
  },
  { name: 'agents around the clock', beginMs: SEPTEMBER, perHour: () => 30 },
  {
    ...{ name: 'GPUs, boots of 8 minutes', beginMs: SEPTEMBER, bootMs: [7 * MINUTE_MS, 9 * MINUTE_MS] },
    perHour: (at) => office(at, 8),
  },
  {
    ...{ name: 'office and nightly jobs', beginMs: SEPTEMBER, perHour: (at: Hour) => office(at, 40) },
    run: ({ isWork }, random) => (isWork ? { hour: 22, nodes: random.int(25, 35) } : undefined),
  },
];

/** Ten traces of different kinds; a seed gives the same ones. */
export function traces(seed: number): Trace[] {
  return KINDS.map((kind, at) => makeTrace(kind, seed * 100 + at));
}

function makeTrace(kind: Kind, seed: number): Trace {
  const { name, beginMs, days = 14, timeZone = BERLIN, bootMs = [80_000, 140_000] } = kind;
  const random = new Random(seed);
  const endMs = beginMs + days * DAY_MS;
  const arrivals: Arrival[] = [];
  for (let atMs = beginMs - BEFORE_DAYS * DAY_MS; atMs < endMs; atMs += HOUR_MS) {
    const local = localTimeOf(timeZone, atMs);
    const isWork = local.day % 6 !== 0;
    const hour = { hour: Math.floor(local.minute / 60), isWork, day: Math.floor((atMs - beginMs) / DAY_MS) };
    arrivals.push(...arrivalsIn(atMs, kind, hour, random));
  }
  arrivals.sort((a, b) => a.atMs - b.atMs);
  return { name, arrivals, beginMs, endMs, timeZone, bootMs, seed };
}

function* arrivalsIn(fromMs: number, { perHour, nodes, run }: Kind, hour: Hour, random: Random): Generator<Arrival> {
  const rate = perHour?.(hour) ?? 0;
  if (rate > 0)
    for (let ms = random.exponential(HOUR_MS / rate); ms < HOUR_MS; ms += random.exponential(HOUR_MS / rate))
      yield { atMs: fromMs + ms, nodes: nodes?.(random) ?? 1 };
  const jobs = run?.(hour, random);
  if (jobs?.hour !== hour.hour) return;
  const lateMs = random.between(0, 2 * MINUTE_MS);
  for (let i = 0; i < jobs.nodes; i++) yield { atMs: fromMs + lateMs + i * 500, nodes: 1 };
}
