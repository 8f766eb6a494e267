import type { LogFields, Logger } from '@nodepool/core';

type Level = 'debug' | 'info' | 'warn' | 'error';

const RANK: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
const NAMES: Readonly<Record<Level, string>> = { debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR' };

function timestamp(date: Date): string {
  const pad = (value: number, width = 2) => String(value).padStart(width, '0');
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())},${pad(date.getMilliseconds(), 3)}`;
}

function describeFields(fields: LogFields, showStack: boolean): string {
  const { error, ...others } = fields;
  const parts = Object.entries(others)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  if (error instanceof Error) parts.push(showStack ? `\n${error.stack ?? error.message}` : `error=${error.message}`);
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
}

/** Logs to standard error in Nodepool's format. Light, so that short commands start fast. */
export function createStderrLogger(minimum: Level, name = 'nodepool', context: LogFields = {}): Logger {
  const write = (level: Level, message: string, fields: LogFields = {}) => {
    if (RANK[level] < RANK[minimum]) return;
    const text = `${message}${describeFields({ ...context, ...fields }, minimum === 'debug')}`;
    process.stderr.write(`${timestamp(new Date())} ${NAMES[level]} ${name}: ${text.replaceAll('\n', '\n  ')}\n`);
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    child: (fields, suffix) =>
      createStderrLogger(minimum, suffix === undefined ? name : `${name}.${suffix}`, { ...context, ...fields }),
  };
}
