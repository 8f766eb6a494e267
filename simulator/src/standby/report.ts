import { Random } from '@nodepool/core/testing';
import { compareStandby, waitFigures, type StandbyComparison, type StandbyFigures } from '@nodepool/history';
import { syntheticDays, type SyntheticDay } from './days.js';
import { syntheticMonths } from './months.js';

/** The goal of all days. */
export const GOAL = { targetWaitMs: 5_000, atMost: 60 } as const;
const HISTORY_MS = 28 * 86_400_000;
const BOOT_MS = { from: 80_000, to: 140_000 } as const;
const BEFORE_BOOTS = 50;

/** One day, compared. */
export interface ComparedDay extends StandbyComparison {
  readonly day: SyntheticDay;
}

/** Plays a day with the forecast, the best constant and the clairvoyant. There is no `min-ready`. */
export function compareDay(day: SyntheticDay): ComparedDay {
  const { arrivals, beginMs, endMs, outage } = day;
  const bootMs = (atMs: number) => {
    const ms = new Random(day.seed + Math.floor(atMs)).between(BOOT_MS.from, BOOT_MS.to);
    return outage && atMs >= outage.fromMs && atMs < outage.toMs ? outage.toMs - atMs + ms : ms;
  };
  const launches = arrivals
    .map(({ atMs }) => ({ endedMs: atMs + bootMs(atMs), tookMs: bootMs(atMs) }))
    .sort((a, b) => a.endedMs - b.endedMs);
  const first = Math.max(0, launches.findIndex(({ endedMs }) => endedMs > beginMs) - BEFORE_BOOTS);
  const scene = {
    ...{
      sinceMs: beginMs,
      untilMs: endMs,
      knownSinceMs: beginMs - HISTORY_MS,
      bootMs,
      launches: launches.slice(first),
    },
    before: arrivals.filter(({ atMs }) => atMs < beginMs),
    arrivals: arrivals.filter(({ atMs }) => atMs >= beginMs),
  };
  return { day, ...compareStandby(scene, GOAL, 0) };
}

/** Idle node-hours of all days, and the 95th percentile of all waits. */
export interface Totals {
  readonly auto: { readonly idleHours: number; readonly p95Ms: number };
  readonly constant: { readonly idleHours: number; readonly p95Ms: number };
  /** Share of the constant's idle node-hours that the forecast spares. */
  readonly saved: number;
}

/** Adds up days. */
export function totalsOf(days: readonly ComparedDay[]): Totals {
  const side = (of: 'auto' | 'constant') => ({
    idleHours: days.reduce((sum, day) => sum + day[of].idleHours, 0),
    p95Ms: waitFigures(days.flatMap(({ waitsMs }) => waitsMs[of])).p95Ms,
  });
  const [auto, constant] = [side('auto'), side('constant')];
  return { auto, constant, saved: 1 - auto.idleHours / constant.idleHours };
}

/** Plays ten days, or the months of a year, and shows them as a table. */
export function standbyReport({ seed, year }: { readonly seed: number; readonly year: boolean }): string {
  const days = year ? syntheticMonths(seed) : syntheticDays(seed);
  return standbyTable(days.map(compareDay));
}

/** The days as a table in Markdown. */
export function standbyTable(days: readonly ComparedDay[]): string {
  const head = [
    'Day',
    'Requests',
    'Constant',
    'Idle h',
    'p50/p95/p99 s',
    'Auto idle h',
    'p50/p95/p99 s',
    'Clairvoyant idle h',
    'Ratio',
  ];
  const rows = days.map(({ day, auto, constant, clairvoyant }) => [
    ...[day.name, String(auto.requests), String(constant.nodes), constant.idleHours.toFixed(1), waits(constant)],
    ...[auto.idleHours.toFixed(1), waits(auto), clairvoyant.idleHours.toFixed(1)],
    (auto.idleHours / clairvoyant.idleHours).toFixed(0),
  ]);
  const { auto, constant, saved } = totalsOf(days);
  const total = ['**all**', '', '', constant.idleHours.toFixed(1), seconds(constant.p95Ms), auto.idleHours.toFixed(1)];
  rows.push([...total, seconds(auto.p95Ms), `${(100 * saved).toFixed(0)} % fewer than constant`, '']);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function waits({ p50Ms, p95Ms, p99Ms }: StandbyFigures): string {
  return [p50Ms, p95Ms, p99Ms].map(seconds).join(' / ');
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0);
}
