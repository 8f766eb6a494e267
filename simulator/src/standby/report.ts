import { Random } from '@nodepool/core/testing';
import { compareStandby, type StandbyComparison, type StandbyFigures } from '@nodepool/history';
import { syntheticMonths } from './months.js';
import { traces, type Trace } from './traces.js';

/** Percent of requests to serve at once. */
export const GOAL = 95;
const HISTORY_MS = 28 * 86_400_000;
const BEFORE_BOOTS = 50;
/** Ways to have standby nodes, as they are shown. */
export const WAYS = ['constant', 'follow', 'schedule', 'auto', 'clairvoyant'] as const;
type Way = (typeof WAYS)[number];

/** One trace, played in all ways. */
export interface ComparedTrace extends StandbyComparison {
  readonly trace: Trace;
}

/** Plays a trace in all ways. There is no `min-ready`. */
export function compareTrace(trace: Trace): ComparedTrace {
  const { arrivals, beginMs, endMs, timeZone } = trace;
  const bootMs = (atMs: number) => new Random(trace.seed + Math.floor(atMs)).between(...trace.bootMs);
  const launches = arrivals
    .map(({ atMs }) => ({ endedMs: atMs + bootMs(atMs), tookMs: bootMs(atMs) }))
    .sort((a, b) => a.endedMs - b.endedMs);
  const first = Math.max(0, launches.findIndex(({ endedMs }) => endedMs > beginMs) - BEFORE_BOOTS);
  const scene = {
    ...{ sinceMs: beginMs, untilMs: endMs, knownSinceMs: beginMs - HISTORY_MS, bootMs },
    launches: launches.slice(first),
    before: arrivals.filter(({ atMs }) => atMs < beginMs),
    arrivals: arrivals.filter(({ atMs }) => atMs >= beginMs),
  };
  return { trace, ...compareStandby(scene, { goal: GOAL, targetWaitMs: 5_000, atMost: 100, timeZone }) };
}

/** What a way gives in all traces together. */
export interface Totals {
  readonly idleHours: number;
  /** Share of all requests served at once. */
  readonly atOnce: number;
  /** Number of traces that meet the goal. */
  readonly met: number;
}

/** Adds up traces. */
export function totalsOf(compared: readonly ComparedTrace[], way: Way): Totals {
  const figures = compared.map((each) => each[way]);
  const requests = figures.reduce((sum, each) => sum + each.requests, 0);
  return {
    idleHours: figures.reduce((sum, each) => sum + each.idleHours, 0),
    atOnce: figures.reduce((sum, each) => sum + each.atOnce * each.requests, 0) / Math.max(1, requests),
    met: figures.filter(({ atOnce }) => 100 * atOnce >= GOAL).length,
  };
}

/** Without the two traces in which `auto` spares most of the constant's idle time. */
export function withoutBest(compared: readonly ComparedTrace[]): ComparedTrace[] {
  const sparedBy = ({ auto, constant }: ComparedTrace) => constant.idleHours - auto.idleHours;
  return [...compared].sort((a, b) => sparedBy(b) - sparedBy(a)).slice(2);
}

/** Plays ten traces, or the months of a year, and shows them as a table. */
export function standbyReport({ seed, year }: { readonly seed: number; readonly year: boolean }): string {
  return standbyTable((year ? syntheticMonths(seed) : traces(seed)).map(compareTrace));
}

/** The traces as a table in Markdown: percent served at once and idle node-hours of each way. */
export function standbyTable(compared: readonly ComparedTrace[]): string {
  const head = ['Trace', 'Requests', ...WAYS];
  const cell = ({ atOnce, idleHours }: Pick<StandbyFigures, 'atOnce' | 'idleHours'>) =>
    `${(100 * atOnce).toFixed(0)} %, ${idleHours.toFixed(0)} h`;
  const rows = compared.map((each) => [
    ...[each.trace.name, String(each.auto.requests)],
    ...WAYS.map((way) => (way === 'constant' ? `${each.constant.nodes}: ${cell(each.constant)}` : cell(each[way]))),
  ]);
  const total = (name: string, some: readonly ComparedTrace[]) => [
    ...[name, String(some.reduce((sum, { auto }) => sum + auto.requests, 0))],
    ...WAYS.map((way) => cell(totalsOf(some, way))),
  ];
  rows.push(total('**all**', compared), total('without the two best', withoutBest(compared)));
  rows.push(['meet the goal', '', ...WAYS.map((way) => String(totalsOf(compared, way).met))]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
