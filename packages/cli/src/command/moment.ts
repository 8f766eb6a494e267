import { parseDuration } from './duration.js';
import { UsageError } from './usage-error.js';

/**
 * A moment in the past, such as `24h` ago or `2026-05-01T12:00Z`, once it is known when now is.
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
