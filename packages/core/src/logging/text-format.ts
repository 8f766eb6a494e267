import { LoggingError } from '../errors.js';
import { LEVEL_NAMES, LEVELS } from './levels.js';
import type { LogRecord } from './log-record.js';
import { errorSummary, isSecretKey, REDACTED, toRedactedJson } from './redact-fields.js';
import { defaultTime, strftime } from './strftime.js';

/** Turns a record into lines without the last line end. */
export type LineFormat = (record: LogRecord) => string;

/** How lines look unless configured otherwise. */
export const DEFAULT_TEXT_FORMAT = '%(asctime)s %(levelname)s %(name)s: %(message)s';

/** One `%(name)s` of a format. */
type Part = (record: LogRecord, line: string) => string;

/**
 * Compiles a printf-style format such as {@link DEFAULT_TEXT_FORMAT}. Further lines of a message get the same prefix and
 * two blanks.
 * @param dateFormat - as for strftime; default `2026-11-21 09:00:00,123`
 * @throws {LoggingError} the format is in another style or has an unknown name
 */
export function compileTextFormat(format: string, dateFormat?: string): LineFormat {
  const parts = parseFormat(format, dateFormat);
  const write = (record: LogRecord, line: string) => {
    let text = '';
    for (const part of parts) text += typeof part === 'string' ? part : part(record, line);
    return text;
  };
  return (record) => {
    const message = messageOf(record);
    if (!message.includes('\n')) return write(record, message);
    const [first = '', ...others] = message.split('\n');
    return [write(record, first), ...others.map((line) => write(record, `  ${line}`))].join('\n');
  };
}

function parseFormat(format: string, dateFormat: string | undefined): (string | Part)[] {
  const parts: (string | Part)[] = [];
  let end = 0;
  for (const match of format.matchAll(/%(?:%|\((\w+)\)([-0]?)(\d*)(?:\.\d+)?([sdf]))/g)) {
    if (match.index > end) parts.push(format.slice(end, match.index));
    const [whole, name, flag, width] = match;
    parts.push(name === undefined ? '%' : sized(partOf(name, dateFormat), flag ?? '', Number(width)));
    end = match.index + whole.length;
  }
  if (end < format.length) parts.push(format.slice(end));
  if (parts.some((part) => typeof part !== 'string')) return parts;
  throw new LoggingError(`log format ${JSON.stringify(format)}: expected names such as %(message)s in it`);
}

function partOf(name: string, dateFormat: string | undefined): Part {
  const part = name === 'asctime' ? timePart(dateFormat) : PARTS[name];
  if (part !== undefined) return part;
  const known = ['asctime', ...Object.keys(PARTS)].join(', ');
  throw new LoggingError(`log format: unknown name %(${name})s, expected one of ${known}`);
}

function timePart(dateFormat: string | undefined): Part {
  if (dateFormat === undefined) return ({ timeMs }) => defaultTime(timeMs);
  return ({ timeMs }) => strftime(dateFormat, new Date(timeMs));
}

function sized(part: Part, flag: string, width: number): Part {
  if (width === 0) return part;
  if (flag === '-') return (record, line) => part(record, line).padEnd(width);
  return (record, line) => part(record, line).padStart(width, flag === '0' ? '0' : ' ');
}

const pid = String(process.pid);
/** What Python code can say about a place in itself has no counterpart here. */
const nowhere: Part = () => '-';

const PARTS: Readonly<Record<string, Part>> = {
  message: (_record, line) => line,
  name: ({ name }) => name,
  levelname: ({ level }) => LEVEL_NAMES[level],
  levelno: ({ level }) => String(LEVELS[level]),
  created: ({ timeMs }) => (timeMs / 1000).toFixed(6),
  msecs: ({ timeMs }) => pad3(timeMs),
  process: () => pid,
  processName: () => 'nodepool',
  thread: () => '0',
  threadName: () => 'main',
  module: nowhere,
  filename: nowhere,
  pathname: nowhere,
  funcName: nowhere,
  lineno: () => '0',
};

function pad3(timeMs: number): string {
  return String(Math.floor(timeMs % 1000)).padStart(3, '0');
}

/** Annotations, the message, the other fields, and at debug level the stack of an error. */
function messageOf({ message, fields, withStack }: LogRecord): string {
  const { eventId, requestId, nodeId, error, ...others } = fields;
  let text = '';
  if (eventId) text += `[e: ${eventId}] `;
  if (requestId) text += `[node_request: ${requestId}] `;
  if (nodeId) text += `[node: ${nodeId}] `;
  text += message;
  for (const key in others) {
    const value = others[key];
    if (value !== undefined && value !== null) text += ` ${key}=${isSecretKey(key) ? REDACTED : fieldText(value)}`;
  }
  if (error === undefined || error === null) return text;
  text += ` error=${fieldText(errorSummary(error))}`;
  return withStack && error instanceof Error && error.stack !== undefined ? `${text}\n${error.stack}` : text;
}

/** Quoted when it would not read as one word, so that no value can forge a line or a field. */
function fieldText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return /^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value);
  return value instanceof Error ? JSON.stringify(errorSummary(value)) : toRedactedJson(value);
}
