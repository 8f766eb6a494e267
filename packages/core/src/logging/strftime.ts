const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

const pad = (value: number, width = 2): string => String(value).padStart(width, '0');

const DIRECTIVES: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => pad(date.getFullYear() % 100),
  m: (date) => pad(date.getMonth() + 1),
  d: (date) => pad(date.getDate()),
  H: (date) => pad(date.getHours()),
  I: (date) => pad(date.getHours() % 12 || 12),
  M: (date) => pad(date.getMinutes()),
  S: (date) => pad(date.getSeconds()),
  f: (date) => pad(date.getMilliseconds() * 1000, 6),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  a: (date) => (DAYS[date.getDay()] ?? '').slice(0, 3),
  A: (date) => DAYS[date.getDay()] ?? '',
  b: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  B: (date) => MONTHS[date.getMonth()] ?? '',
  z: (date) => offsetOf(date),
  Z: (date) => offsetOf(date),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  T: (date) => strftime('%H:%M:%S', date),
  F: (date) => strftime('%Y-%m-%d', date),
  '%': () => '%',
};

/** A local time written by a C-style format such as `%Y-%m-%d %H:%M:%S`. Directives it does not know stay. */
export function strftime(format: string, date: Date): string {
  return format.replace(/%([a-zA-Z%])/g, (whole, directive: string) => DIRECTIVES[directive]?.(date) ?? whole);
}

function offsetOf(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}${pad(size % 60)}`;
}

let lastSecond = Number.NaN;
let lastText = '';

/** `2026-11-21 09:00:00,123` in local time; the part up to the second is kept from call to call. */
export function defaultTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = strftime('%Y-%m-%d %H:%M:%S', new Date(timeMs));
  }
  return `${lastText},${pad(Math.floor(timeMs % 1000), 3)}`;
}
