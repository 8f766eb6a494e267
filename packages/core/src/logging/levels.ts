/** Severities in the numbers that logging configurations use; larger is more severe. */
export const LEVELS = { notset: 0, debug: 10, info: 20, warn: 30, error: 40, critical: 50 } as const;

/** Severity of a line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** As they stand in a line of text. */
export const LEVEL_NAMES: Readonly<Record<LogLevel, string>> = {
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
};

/** `WARNING`, `warn` or `30` as a number; `undefined` when it is no level. */
export function parseLevel(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const name = value.toLowerCase();
  if (name === 'warning') return LEVELS.warn;
  if (name === 'fatal') return LEVELS.critical;
  return Object.hasOwn(LEVELS, name) ? LEVELS[name as keyof typeof LEVELS] : undefined;
}
