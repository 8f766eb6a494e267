import type { LogRecord } from './log-record.js';
import { redactor, toRedactedJson } from './redact-fields.js';

/** Names of the fields every reader of the log knows. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  eventId: 'event_id',
  requestId: 'node_request',
  nodeId: 'node',
};

/** One JSON object per record: time, level, logger, message, then the fields; an error as `{message, code, stack}`. */
export function formatJson({ level, name, message, fields, timeMs, withStack }: LogRecord): string {
  const line: Record<string, unknown> = { time: new Date(timeMs).toISOString(), level, logger: name, message };
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    const wireName = WIRE_NAMES[key] ?? (key in line ? `${key}_` : key);
    line[wireName] = key === 'error' ? errorObject(value, withStack) : redactor(key, value);
  }
  return toRedactedJson(line);
}

function errorObject(error: unknown, withStack: boolean): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : errorObject(error.cause, withStack);
  return { message: error.message, code, cause, stack: withStack ? error.stack : undefined };
}
