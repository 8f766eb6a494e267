import { UsageError } from './usage-error.js';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a duration such as `90`, `90s`, `10m` or `1h30m`; a bare number counts seconds.
 * @throws UsageError
 */
export function parseDuration(text: string, option: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([smhd])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new UsageError(`${option} needs a duration such as 90s, 10m or 1h30m, got "${text}"`);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ''] ?? 0), 0);
}
