import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Decides before a write whether the current file is put aside, and moves it. */
export interface Rotation {
  /** @param size - bytes in the file now */
  isDue(size: number, timeMs: number): boolean;
  /** Moves the file away; it is reopened afterwards. */
  rotate(file: string, timeMs: number): void;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Length of one period, and how much of `2026-11-21_09-00-00` ends the names of files put aside. */
const PERIODS: Readonly<Record<string, { ms: number; digits: number }>> = {
  S: { ms: 1000, digits: 19 },
  M: { ms: 60_000, digits: 16 },
  H: { ms: HOUR_MS, digits: 13 },
  D: { ms: DAY_MS, digits: 10 },
  MIDNIGHT: { ms: DAY_MS, digits: 10 },
  W: { ms: 7 * DAY_MS, digits: 10 },
};

/**
 * Puts the file aside as `file.1` when it has grown to a size, keeping so many old ones, named as Python's
 * `RotatingFileHandler` does. `backupCount` 0 keeps none: the file is never put aside.
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
 * Puts the file aside with a date at its end whenever a period has passed, as Python's `TimedRotatingFileHandler` does.
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

function moveIfThere(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to);
}
