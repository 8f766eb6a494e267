const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
];

/** A duration in one unit, such as `5 min`. */
export function duration(seconds: number): string {
  for (const [size, name] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  return `${Math.max(0, Math.round(seconds))} s`;
}

/** A duration as exactly as people want it, such as `9.7 s` or `34 ms`. */
export function length(seconds: number): string {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : duration(seconds);
}

/** The time until something, in two units, such as `1 h 58 min`. */
export function timeLeft(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = UNITS.findIndex(([size]) => whole >= size);
  if (first < 0) return `${whole} s`;
  const [size = 1] = UNITS[first] ?? [];
  const rest = duration(whole % size);
  return whole % size < (UNITS[first + 1]?.[0] ?? 1) ? duration(whole) : `${duration(whole)} ${rest}`;
}

const SECONDS_PER_HOUR = 3_600;

/** A time in hours for a field of a form; not longer than it is, so that it is not refused. */
export function hoursOf(seconds: number): string {
  return String(Math.max(0.01, Math.floor((seconds / SECONDS_PER_HOUR) * 100) / 100));
}

/** The seconds in a field of a form that takes hours. */
export function secondsOf(form: HTMLFormElement, name: string): number {
  return Math.max(1, Math.round(Number(fieldOf(form, name)) * SECONDS_PER_HOUR));
}

/** How long ago a time was. */
export function age(time: number | null, now: number): string {
  return time === null ? '' : duration(now - time);
}

/** The text in a field of a form. */
export function fieldOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** Shows a list, filtered by a state. */
export function goTo(list: string, state: string): void {
  location.hash = state === '' ? `/${list}` : `/${list}?state=${encodeURIComponent(state)}`;
}

/** The time of day. */
export function clock(time: Date): string {
  return time.toLocaleTimeString();
}

/** Amounts by name as one line. */
export function amounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, amount]) => `${amount} ${name}`)
    .join(', ');
}

/** Whether others may read what a page of this address sends: over plain HTTP to another computer. */
export function isOpenWay({ protocol, hostname }: Pick<Location, 'protocol' | 'hostname'>): boolean {
  return protocol === 'http:' && !/^(127\.[\d.]+|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}
