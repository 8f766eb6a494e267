import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Decides before each write whether to rotate the current file, and renames it. */
export interface Rotation {
  /** @param size - current file size in bytes */
  isDue(size: number, timeMs: number): boolean;
  /** Renames the file. The caller reopens it. */
  rotate(file: string, timeMs: number): void;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Length of one period, and how many characters of `2026-11-21_09-00-00` form the suffix of rotated files. */
const PERIODS: Readonly<Record<string, { ms: number; digits: number }>> = {
  S: { ms: 1000, digits: 19 },
  M: { ms: 60_000, digits: 16 },
  H: { ms: HOUR_MS, digits: 13 },
  D: { ms: DAY_MS, digits: 10 },
  MIDNIGHT: { ms: DAY_MS, digits: 10 },
  W: { ms: 7 * DAY_MS, digits: 10 },
};

/**
 * Rotates the file to `file.1` when it reaches `maxBytes`, and keeps `backupCount` old files, named as Python's
 * `RotatingFileHandler` does. With `backupCount` 0 the file is never rotated.
 */
export function rotateBySize(maxBytes: number, backupCount: number): Rotation {
  return {
    isDue: (size) => maxBytes > 0 && backupCount > 0 && size >= maxBytes,
    rotate(file) {
      rmSync(`${file}.${backupCount}`, { force: true });
      for (let number = backupCount - 1; number >= 1; number--)
        moveIfThere(`${file}.${number}`, `${file}.${number + 1}`);
      moveIfThere(file, `${file}.1`);
    },
  };
}

/** Settings of rotation by time. */
export interface TimedRotation {
  readonly file: string;
  /** `S`, `M`, `H`, `D`, `midnight`, or `W0` to `W6` (Monday to Sunday). */
  readonly when: string;
  /** Number of units per period. */
  readonly interval: number;
  /** Number of old files to keep; `0` keeps all. */
  readonly backupCount: number;
  readonly nowMs: number;
}

/**
 * Rotates the file after each period and appends a date to its name, as Python's `TimedRotatingFileHandler` does.
 * @returns `undefined` if `when` is unknown
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
      const stamp = localStamp(dueMs - period.ms * interval).slice(0, period.digits);
      moveIfThere(current, `${current}.${stamp}`);
      removeOldest(current, backupCount);
      dueMs = nextTime(unit, period.ms * interval, timeMs);
    },
  };
}

/** `2026-11-21_09-00-00` in local time. */
function localStamp(timeMs: number): string {
  const utc = timeMs - new Date(timeMs).getTimezoneOffset() * 60_000;
  return new Date(utc).toISOString().slice(0, 19).replace('T', '_').replaceAll(':', '-');
}

/** Midnight and weekday rotations use local time; other periods start at the file's last modification. */
function nextTime(unit: string, periodMs: number, fromMs: number): number {
  if (unit !== 'MIDNIGHT' && !unit.startsWith('W')) return fromMs + periodMs;
  const next = new Date(fromMs);
  next.setHours(24, 0, 0, 0);
  const weekday = Number(unit.slice(1));
  if (unit.startsWith('W') && Number.isInteger(weekday)) {
    // getDay() starts the week on Sunday, the configuration on Monday.
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

function moveIfThere(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to);
}
