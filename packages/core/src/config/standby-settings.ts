import { listOf, mapOf, numberOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { ScheduledNodes, StandbySettings } from '../contract/config.js';
import type { YamlPath } from '../contract/yaml-path.js';
import type { SenseCheck } from './check-sense.js';
import { integer, list, section, text } from './schema-parts.js';
import { cronProblem } from './standby-schedule.js';

const AT_MOST = 100;
const GOAL = 95;
const HOUR_MS = 3_600_000;
const DAY_MINUTES = 1_440;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const DAY = `(${DAYS.join('|')})`;

const duration = (description: string, notes: JsonObject): JsonObject => ({
  type: ['number', 'string'],
  minimum: 0,
  pattern: '^(\\d+(\\.\\d+)?[smh])+$',
  'x-message': 'expected seconds, or a duration such as 90s, 10m or 1h30m',
  ...{ description, ...notes },
});

// YAML reads 19:00, but not 07:00, as a number to the base of 60: minutes here
const timeOfDay = (description: string, time: string): JsonObject => ({
  type: ['string', 'integer'],
  ...{ minimum: 60, maximum: DAY_MINUTES },
  pattern: '^(\\d|[01]\\d|2[0-3]):[0-5]\\d$|^24:00$',
  'x-message': 'expected a time of day such as 07:00 or 19:30',
  ...{ description, default: time, examples: ['07:00'] },
});

const SCHEDULED = section(
  'Scheduled standby nodes',
  {
    days: {
      type: 'string',
      pattern: `^${DAY}(-${DAY})?(, ?${DAY}(-${DAY})?)*$`,
      'x-message': 'expected days of the week in small letters, such as mon-fri or sat,sun',
      ...{ description: 'Days of the week; a time that passes midnight belongs to the day on which it begins' },
      ...{ 'x-default': 'every day', examples: ['mon-fri'] },
    },
    from: timeOfDay('When the nodes are to be ready, by the clock of the time zone', '00:00'),
    to: timeOfDay('When they are no longer kept', '24:00'),
    cron: text('When the nodes are to be ready, in the five fields of cron, instead of `days`, `from` and `to`', {
      ...{ otherwise: 'none', examples: ['0 2 * * *'] },
    }),
    for: duration('How long the nodes of `cron` are kept: seconds, or a duration', { default: '1h', examples: ['2h'] }),
    until: {
      enum: ['consumed'],
      description: 'With `cron`: nodes that requests have taken are not replaced',
      'x-default': 'they are replaced until the time is over',
    },
    nodes: integer('Standby nodes to keep', {}, { minimum: 0 }),
  },
  ['nodes'],
);

const replaced = (type: Json): JsonObject => ({
  ...{ type, deprecated: true, description: 'Read as `auto: true`; write `standby: auto`' },
});

const KEYS: JsonObject = {
  schedule: list('Standby nodes by the time of day; the largest number of what is due counts', SCHEDULED),
  'time-zone': text('Time zone of the schedule, by its IANA name', {
    ...{ otherwise: '`time-zone` of the file', examples: ['Europe/Berlin'] },
  }),
  follow: duration('Also keep the most nodes that requests needed at once during this time before', {
    ...{ 'x-default': 'none', examples: ['1h'] },
  }),
  auto: {
    ...{ type: 'boolean', default: false },
    description:
      'Whether to fit the number to the hours of days of work and of weekends during the last four weeks, and to follow the last hour',
  },
  goal: {
    ...{ type: 'number', minimum: 1, maximum: 99.9 },
    description:
      'Percent of the requests that standby nodes are to serve at once; a condition tells when a week missed it',
    'x-default': '95 with `auto`, else none',
  },
  keep: {
    enum: ['running', 'stopped'],
    description: 'Whether standby nodes run, or are stopped after their boot and started for a request',
    default: 'running',
  },
  'at-most': integer('Largest number of standby nodes', { default: AT_MOST }, { minimum: 0 }),
  ...{ 'target-wait': replaced(['number', 'string']), 'idle-budget': replaced('number') },
};

/** Schema of `standby` of a label. */
export const STANDBY: JsonObject = {
  ...section('Standby', KEYS),
  ...{ type: ['object', 'string'], pattern: '^auto$', 'x-message': 'expected auto, or a map' },
  description: 'Standby nodes by schedule and demand, or `auto`; see docs/standby.md',
  'x-default': 'none: `min-ready`',
};

/** Keys that were read before there were schedules. */
const REPLACED = ['target-wait', 'idle-budget'] as const;

/** @param section - validated against {@link STANDBY} @param timeZone - of the file */
export function readStandby(section: Json | undefined, timeZone = hostTimeZone()): StandbySettings | undefined {
  const given = section === 'auto' ? { auto: true } : mapOf(section);
  const schedule = listOf(given['schedule']).map((entry) => readScheduled(mapOf(entry)));
  const auto = given['auto'] === true || REPLACED.some((key) => given[key] !== undefined);
  const followMs = durationOf(given['follow']) ?? (auto ? HOUR_MS : undefined);
  if (schedule.length === 0 && followMs === undefined) return undefined;
  return {
    ...{ schedule, auto, followMs, timeZone: textOf(given['time-zone']) ?? timeZone },
    goal: numberOf(given['goal']) ?? (auto ? GOAL : undefined),
    atMost: numberOf(given['at-most']) ?? AT_MOST,
  };
}

/** The time zone of this host, by its IANA name. */
export function hostTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function readScheduled(entry: JsonObject): ScheduledNodes {
  const nodes = numberOf(entry['nodes']) ?? 0;
  const cron = textOf(entry['cron']);
  if (cron !== undefined) {
    const forMs = durationOf(entry['for']) ?? HOUR_MS;
    return { kind: 'run', nodes, cron, forMs, untilConsumed: entry['until'] === 'consumed' };
  }
  const [fromMinute = 0, toMinute = DAY_MINUTES] = [minuteOf(entry['from']), minuteOf(entry['to'])];
  return { kind: 'hours', nodes, days: daysOf(textOf(entry['days'])), fromMinute, toMinute };
}

/** Days of the week, Sunday 0. */
function daysOf(text: string | undefined): number[] {
  if (text === undefined) return DAYS.map((_, day) => day);
  return text.split(',').flatMap((part) => {
    const [first = 0, last = first] = part
      .trim()
      .split('-')
      .map((day) => DAYS.indexOf(day as (typeof DAYS)[number]));
    return Array.from({ length: ((last - first + 7) % 7) + 1 }, (_, at) => (first + at) % 7);
  });
}

function minuteOf(value: Json | undefined): number | undefined {
  if (typeof value !== 'string') return numberOf(value);
  const [hour = 0, minute = 0] = value.split(':').map(Number);
  return hour * 60 + minute;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: HOUR_MS };

/** Milliseconds of a number of seconds, or of a duration that matches the schema. */
function durationOf(value: Json | undefined): number | undefined {
  if (typeof value !== 'string') return typeof value === 'number' ? value * 1000 : undefined;
  const parts = value.matchAll(/([\d.]+)([smh])/g);
  return [...parts].reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_MS[unit] ?? 0), 0);
}

/** @param section - validated against {@link STANDBY} */
export function readKeep(section: Json | undefined): 'stopped' | undefined {
  return mapOf(section)['keep'] === 'stopped' ? 'stopped' : undefined;
}

/** Reports time zones that are none, schedules that say no time, and labels whose `standby` says nothing or has no effect. */
export function checkStandby(top: JsonObject, check: SenseCheck): void {
  checkTimeZone(top['time-zone'], ['time-zone'], check);
  for (const [index, label] of listOf(top['labels']).entries()) {
    const entry = mapOf(label);
    const path = ['labels', index, 'standby'];
    const { standby } = entry;
    if (standby === undefined || standby === null) continue;
    const given = mapOf(standby);
    checkTimeZone(given['time-zone'], [...path, 'time-zone'], check);
    for (const [at, scheduled] of listOf(given['schedule']).entries())
      checkScheduled(mapOf(scheduled), [...path, 'schedule', at], check);
    const { document, problems } = check;
    const warn = (where: YamlPath, message: string) => problems.add(document, where, message, { severity: 'warning' });
    for (const key of REPLACED)
      if (given[key] !== undefined)
        warn([...path, key], `${key} is read as auto: write \`standby: auto\`, or a schedule; see docs/standby.md`);
    const isMisspelled = typeof standby === 'string' || Object.keys(given).some((key) => !(key in KEYS));
    if (!isMisspelled && readStandby(standby) === undefined && given['keep'] === undefined)
      problems.add(document, path, 'standby says no number: write `standby: auto`, or schedule or follow');
    const doubt = doubtOf(entry);
    if (doubt !== undefined) warn(path, doubt);
  }
}

function checkTimeZone(value: Json | undefined, path: YamlPath, { document, problems }: SenseCheck): void {
  const timeZone = textOf(value);
  if (timeZone === undefined) return;
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch {
    problems.add(document, path, `"${timeZone}" is no time zone: write its IANA name, such as Europe/Berlin or UTC`);
  }
}

function checkScheduled(entry: JsonObject, path: YamlPath, { document, problems }: SenseCheck): void {
  const cron = textOf(entry['cron']);
  const has = (...keys: string[]) => keys.filter((key) => entry[key] !== undefined);
  const hours = has('days', 'from', 'to');
  if (cron !== undefined) {
    const problem = cronProblem(cron);
    if (problem !== undefined) problems.add(document, [...path, 'cron'], problem);
    for (const key of hours) problems.add(document, [...path, key], `cron says when: remove ${key}, or cron`);
    return;
  }
  for (const key of has('for', 'until'))
    problems.add(document, [...path, key], `${key} is for cron: write when by cron, or to`);
  if (hours.length === 0) problems.add(document, path, 'this says no time: write days, from and to, or cron');
}

function doubtOf(label: JsonObject): string | undefined {
  const standby = readStandby(label['standby']);
  const minReady = numberOf(label['min-ready']) ?? 0;
  if (minReady < 0) return 'min-ready -1 switches the label off, so standby has no effect: remove one of them';
  if (!standby) return undefined;
  const { atMost, schedule } = standby;
  const most = Math.max(minReady, ...schedule.map(({ nodes }) => nodes));
  if (most > atMost)
    return `at-most ${atMost} is below ${most}, which min-ready or the schedule says: so many are not kept`;
  return atMost === 0 ? 'at-most 0 keeps no standby node: leave standby out, or raise at-most' : undefined;
}
