const MS_PER_SECOND = 1000;
const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3600;
const SECONDS_PER_DAY = 86_400;

/** A duration as listings show it: `DD:HH:MM:SS`, at least two digits each. Negative durations show as zero. */
export function formatAge(ageMs: number): string {
  const total = Math.max(0, Math.floor(ageMs / MS_PER_SECOND));
  const parts = [
    Math.floor(total / SECONDS_PER_DAY),
    Math.floor((total % SECONDS_PER_DAY) / SECONDS_PER_HOUR),
    Math.floor((total % SECONDS_PER_HOUR) / SECONDS_PER_MINUTE),
    total % SECONDS_PER_MINUTE,
  ];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
