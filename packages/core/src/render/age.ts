const MS_PER_SECOND = 1000;
const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3600;
const SECONDS_PER_DAY = 86_400;

/** Formats a duration for listings: `DD:HH:MM:SS`, at least two digits each. Negative durations show as zero. */
export function formatAge(ageMs: number): string {
  const total = Math.max(0, Math.floor(ageMs / MS_PER_SECOND));
  const days = Math.floor(total / SECONDS_PER_DAY);
  const hours = Math.floor((total % SECONDS_PER_DAY) / SECONDS_PER_HOUR);
  const minutes = Math.floor((total % SECONDS_PER_HOUR) / SECONDS_PER_MINUTE);
  return `${twoDigits(days)}:${twoDigits(hours)}:${twoDigits(minutes)}:${twoDigits(total % SECONDS_PER_MINUTE)}`;
}

/** Formats a time for tables, in UTC: `2026-11-23T07:50:12Z`; `null` stays `null`. */
export function formatTime(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

function twoDigits(amount: number): string {
  return amount < 10 ? `0${amount}` : String(amount);
}
