/** Severities as winston ranks them: a smaller number is more severe. */
export const LEVELS = { critical: 0, error: 1, warn: 2, info: 3, debug: 4 } as const;

/** Severity of a line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Minimum severity of a logger or handler. */
export type Threshold = keyof typeof LEVELS;

/** Name of a severity in text output and its number in logging configurations. A larger number is more severe. */
export const PYTHON_LEVELS: Readonly<Record<LogLevel, { readonly name: string; readonly number: number }>> = {
  debug: { name: 'DEBUG', number: 10 },
  info: { name: 'INFO', number: 20 },
  warn: { name: 'WARNING', number: 30 },
  error: { name: 'ERROR', number: 40 },
};

const NAMES: Readonly<Record<string, Threshold | 'notset'>> = {
  notset: 'notset',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  critical: 'critical',
  fatal: 'critical',
};

/**
 * Reads a level of a logging configuration: `WARNING`, `warn`, `30`, or a number between two levels, which is rounded up
 * to the more severe level.
 * @returns `notset` for `NOTSET` and 0, which inherit the level of the parent; `undefined` if the value is not a level
 */
export function parseLevel(value: unknown): Threshold | 'notset' | undefined {
  if (typeof value === 'string') {
    const text = value.trim().toLowerCase();
    if (!/^\d+$/.test(text)) return Object.hasOwn(NAMES, text) ? NAMES[text] : undefined;
  } else if (typeof value !== 'number') return undefined;
  const number = Number(value);
  if (Number.isNaN(number)) return undefined;
  if (number <= 0) return 'notset';
  return (
    (['debug', 'info', 'warn', 'error'] as const).find((name) => number <= PYTHON_LEVELS[name].number) ?? 'critical'
  );
}
