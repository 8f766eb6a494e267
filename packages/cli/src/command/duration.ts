import { UsageError } from './usage-error.js';

/** Ten years: enough for everything, and the sum with the present is a date. */
const LONGEST_MS = 3_650 * 86_400_000;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a duration such as `90`, `90s`, `10m` or `1h30m`; a bare number counts seconds.
 * @throws UsageError
 */
export function parseDuration(text: string, option: string): number {
  const ms = readDuration(text, option);
  if (ms > LONGEST_MS) throw new UsageError(`${option} takes at most 3650d, got "${text}"`);
  return ms;
}

function readDuration(text: string, option: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([smhd])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new UsageError(`${option} needs a duration such as 90s, 10m or 1h30m, got "${text}"`);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ''] ?? 0), 0);
}

/**
 * A moment, given as an age such as `24h` or as a time such as `2026-05-01T12:00Z`.
 * @returns a function of the current time
 * @throws UsageError
 */
export function parseMoment(text: string, option: string): (nowMs: number) => number {
  if (!/^\d{4}-/.test(text)) {
    const agoMs = parseDuration(text, option);
    return (nowMs) => nowMs - agoMs;
  }
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new UsageError(`${option} needs a duration such as 24h, or a time such as 2026-05-01T12:00Z`);
  return () => ms;
}
