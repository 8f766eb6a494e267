import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Rotation } from './file-writer.js';
import { strftime } from './strftime.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Length of one period and the suffix of files put aside, by the letter configurations use. */
const PERIODS: Readonly<Record<string, { ms: number; suffix: string }>> = {
  S: { ms: 1000, suffix: '%Y-%m-%d_%H-%M-%S' },
  M: { ms: 60_000, suffix: '%Y-%m-%d_%H-%M' },
  H: { ms: HOUR_MS, suffix: '%Y-%m-%d_%H' },
  D: { ms: DAY_MS, suffix: '%Y-%m-%d' },
  MIDNIGHT: { ms: DAY_MS, suffix: '%Y-%m-%d' },
  W: { ms: 7 * DAY_MS, suffix: '%Y-%m-%d' },
};

/** When a file is put aside by time. */
export interface TimedRotation {
  readonly file: string;
  /** `S`, `M`, `H`, `D`, `midnight`, or `W0` to `W6` (Monday to Sunday). */
  readonly when: string;
  /** So many of these units make one period. */
  readonly interval: number;
  /** How many old files stay; `0` keeps all. */
  readonly backupCount: number;
  readonly nowMs: number;
}

/**
 * Puts the file aside with a date at its end whenever a period has passed.
 * @returns `undefined` when `when` is not known
 */
export function rotateByTime({ file, when, interval, backupCount, nowMs }: TimedRotation): Rotation | undefined {
  const unit = when.toUpperCase();
  const period = PERIODS[unit.startsWith('W') ? 'W' : unit];
  if (period === undefined) return undefined;
  const begun = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
  let dueMs = nextTime(unit, period.ms * interval, begun);
  return {
    isDue: (_size, timeMs) => timeMs >= dueMs,
    rotate(current, timeMs) {
      const stamp = strftime(period.suffix, new Date(dueMs - period.ms * interval));
      if (statSync(current, { throwIfNoEntry: false }) !== undefined) renameSync(current, `${current}.${stamp}`);
      removeOldest(current, backupCount);
      dueMs = nextTime(unit, period.ms * interval, timeMs);
    },
  };
}

/** Midnights are local; other periods count from the file's last change. */
function nextTime(unit: string, periodMs: number, fromMs: number): number {
  if (unit !== 'MIDNIGHT' && !unit.startsWith('W')) return fromMs + periodMs;
  const next = new Date(fromMs);
  next.setHours(24, 0, 0, 0);
  const weekday = Number(unit.slice(1));
  if (unit.startsWith('W') && Number.isInteger(weekday)) {
    // getDay() counts from Sunday, configurations from Monday.
    while ((next.getDay() + 6) % 7 !== weekday) next.setDate(next.getDate() + 1);
  }
  return next.getTime();
}

function removeOldest(file: string, backupCount: number): void {
  if (backupCount <= 0) return;
  const prefix = `${basename(file)}.`;
  const old = readdirSync(dirname(file)).filter(
    (name) => name.startsWith(prefix) && /^\d{4}-/.test(name.slice(prefix.length)),
  );
  for (const name of old.sort().slice(0, -backupCount)) rmSync(join(dirname(file), name), { force: true });
}
