import { Cron } from 'croner';
import type { ScheduledHours, ScheduledNodes } from '../contract/config.js';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** A moment by the clock of a time zone. */
export interface LocalTime {
  /** Day of the week, Sunday 0. */
  readonly day: number;
  /** Minutes since midnight, as the clock shows them. */
  readonly minute: number;
}

/** Clocks change at the begin of a quarter of an hour, in all time zones. */
const QUARTER_MS = 15 * 60_000;
const MOST_QUARTERS = 10_000;

/** The clock of a time zone, and what it showed at the begin of quarters that were asked for. */
interface LocalClock {
  readonly format: Intl.DateTimeFormat;
  readonly quarters: Map<number, LocalTime>;
}

const clocks = new Map<string, LocalClock>();

/** What the clock of a time zone shows. @param timeZone - IANA name */
export function localTimeOf(timeZone: string, atMs: number): LocalTime {
  let clock = clocks.get(timeZone);
  if (!clock) {
    const fields = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    clock = { format: new Intl.DateTimeFormat('en-US', { timeZone, ...fields }), quarters: new Map() };
    clocks.set(timeZone, clock);
  }
  const { format, quarters } = clock;
  const quarter = Math.floor(atMs / QUARTER_MS);
  let begin = quarters.get(quarter);
  if (!begin) {
    if (quarters.size >= MOST_QUARTERS) quarters.clear();
    quarters.set(quarter, (begin = readClock(format, quarter * QUARTER_MS)));
  }
  return { day: begin.day, minute: begin.minute + Math.floor((atMs - quarter * QUARTER_MS) / 60_000) };
}

function readClock(format: Intl.DateTimeFormat, atMs: number): LocalTime {
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  return {
    day: DAYS.indexOf(parts.get('weekday') as (typeof DAYS)[number]),
    minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
  };
}

/**
 * A moment of the scheduled time that is at a time or a lead ahead of it, ms since the epoch: of a run, when it is due. `undefined`:
 * none is. Where clocks change, hours are those that the clock shows, and a run whose time is left out or comes twice is once, as cron does.
 * @param leadMs - nodes are launched so long before they are to be ready
 */
export function dueAt(scheduled: ScheduledNodes, timeZone: string, atMs: number, leadMs: number): number | undefined {
  if (scheduled.kind === 'hours')
    return [atMs, atMs + leadMs].find((each) => includes(scheduled, localTimeOf(timeZone, each)));
  const run = lastRun(scheduled.cron, timeZone, Math.floor(atMs + leadMs));
  return run !== undefined && run + scheduled.forMs > atMs ? run : undefined;
}

function includes({ days, fromMinute, toMinute }: ScheduledHours, { day, minute }: LocalTime): boolean {
  if (fromMinute < toMinute) return days.includes(day) && minute >= fromMinute && minute < toMinute;
  // it passes midnight
  return minute >= fromMinute ? days.includes(day) : minute < toMinute && days.includes((day + 6) % 7);
}

/** The last run of each pattern that was asked for, and the next one. */
const runs = new Map<string, { readonly cron: Cron; lastMs: number; nextMs: number }>();

/** The last run at or before a time, ms since the epoch. */
function lastRun(pattern: string, timezone: string, atMs: number): number | undefined {
  const key = JSON.stringify([pattern, timezone]);
  let known = runs.get(key);
  if (!known) {
    const cron = new Cron(pattern, { timezone, paused: true, mode: '5-part' });
    runs.set(key, (known = { cron, lastMs: Infinity, nextMs: -Infinity }));
  }
  if (atMs < known.lastMs || atMs >= known.nextMs) {
    const after = new Date(atMs + 1);
    known.lastMs = known.cron.previousRuns(1, after)[0]?.getTime() ?? -Infinity;
    known.nextMs = known.cron.nextRun(new Date(atMs))?.getTime() ?? Infinity;
  }
  return known.lastMs === -Infinity ? undefined : known.lastMs;
}

/** What is wrong with a pattern of cron; `undefined`: nothing. */
export function cronProblem(pattern: string): string | undefined {
  const fields = pattern.trim().split(/\s+/);
  if (fields.length === 6) return `expected five fields of cron: remove the seconds, "${fields.slice(1).join(' ')}"`;
  try {
    const next = new Cron(pattern, { paused: true, mode: '5-part' }).nextRun();
    return next ? undefined : `"${pattern}" never comes`;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return `expected five fields of cron such as "0 2 * * *": ${reason}`;
  }
}

/** A schedule for people. */
export function scheduleText(scheduled: ScheduledNodes, timeZone: string): string {
  if (scheduled.kind === 'run') return `cron ${scheduled.cron} (${timeZone})`;
  const { days, fromMinute, toMinute } = scheduled;
  const on = days.length === 7 ? '' : `${days.map((day) => DAYS[day]?.toLowerCase()).join(',')} `;
  return `${on}${timeText(fromMinute)} to ${timeText(toMinute)} (${timeZone})`;
}

function timeText(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
