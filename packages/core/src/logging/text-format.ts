import { format as formatDate } from 'fecha';
import { format, type Logform } from 'winston';
import { escapeForTerminal } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import { LoggingError } from '../contract/errors.js';
import { type LogLevel, PYTHON_LEVELS } from './levels.js';
import { isErrorFacts, summarize } from './plain-fields.js';

/** Default line format. */
export const DEFAULT_TEXT_FORMAT = '%(asctime)s %(levelname)s %(name)s: %(message)s';

type Info = Logform.TransformableInfo;
type LineClock = Pick<Clock, 'now'>;

/** Renders one `%(name)s` of a format. */
type Part = (info: Info, line: string) => string;

/**
 * A winston format that renders lines with a printf-style format such as {@link DEFAULT_TEXT_FORMAT}. Continuation lines of
 * a message get the same prefix and two spaces. Control characters are escaped, because messages contain text from clouds
 * and users.
 * @param clock - source of timestamps
 * @param dateFormat - strftime format; default `2026-11-21 09:00:00,123`
 * @throws {LoggingError} the format uses another style or an unknown name
 */
export function textFormat(template: string, clock: LineClock, dateFormat?: string): Logform.Format {
  const parts = parseTemplate(template, clock);
  const write = (info: Info, line: string) => {
    let text = '';
    for (const part of parts) text += typeof part === 'string' ? part : part(info, line);
    return text;
  };
  const lines = format.printf((info) => {
    const message = escapeForTerminal(messageOf(info));
    if (!message.includes('\n')) return write(info, message);
    const [first = '', ...others] = message.split('\n');
    return [write(info, first), ...others.map((line) => write(info, `  ${line}`))].join('\n');
  });
  if (!template.includes('%(asctime)')) return lines;
  return format.combine(timestamps(dateFormat === undefined ? DEFAULT_DATE_MASK : dateMask(dateFormat), clock), lines);
}

/** Timestamps of winston, cached per millisecond because they cost more than the rest of a line. */
function timestamps(mask: string, clock: LineClock): Logform.Format {
  let madeMs = Number.NaN;
  let text = '';
  const stamp = () => {
    const nowMs = clock.now();
    if (nowMs !== madeMs) {
      text = formatDate(new Date(nowMs), mask);
      madeMs = nowMs;
    }
    return text;
  };
  return format.timestamp({ format: stamp });
}

function parseTemplate(template: string, clock: LineClock): (string | Part)[] {
  const parts: (string | Part)[] = [];
  let end = 0;
  for (const match of template.matchAll(/%(?:%|\((\w+)\)([-0]?)(\d*)(?:\.\d+)?([sdf]))/g)) {
    if (match.index > end) parts.push(template.slice(end, match.index));
    const [whole, name, flag, width] = match;
    parts.push(name === undefined ? '%' : sized(partOf(name, clock), flag ?? '', Number(width)));
    end = match.index + whole.length;
  }
  if (end < template.length) parts.push(template.slice(end));
  if (parts.some((part) => typeof part !== 'string')) return parts;
  throw new LoggingError(`log format ${JSON.stringify(template)}: expected names such as %(message)s in it`);
}

function partOf(name: string, clock: LineClock): Part {
  if (name === 'created') return () => (clock.now() / 1000).toFixed(6);
  if (name === 'msecs') return () => String(clock.now() % 1000).padStart(3, '0');
  const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
  if (part !== undefined) return part;
  const known = [...Object.keys(PARTS), 'created', 'msecs'].join(', ');
  throw new LoggingError(`log format: unknown name %(${name})s, expected one of ${known}`);
}

function sized(part: Part, flag: string, width: number): Part {
  if (width === 0) return part;
  if (flag === '-') return (info, line) => part(info, line).padEnd(width);
  return (info, line) => part(info, line).padStart(width, flag === '0' ? '0' : ' ');
}

const pid = String(process.pid);
const levelOf = ({ level }: Info) => PYTHON_LEVELS[level as LogLevel];
/** Source locations of Python code (`%(filename)s` and the like) have no counterpart here. */
const nowhere: Part = () => '-';

const PARTS: Readonly<Record<string, Part>> = {
  asctime: ({ timestamp }) => String(timestamp),
  message: (_info, line) => line,
  name: ({ logger }) => String(logger),
  levelname: (info) => levelOf(info).name,
  levelno: (info) => String(levelOf(info).number),
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

/** Fields with a fixed position in a line, not repeated among the other fields. */
const PLACED: ReadonlySet<string> = new Set([
  ...['level', 'message', 'logger', 'timestamp'],
  ...['eventId', 'requestId', 'nodeId', 'error'],
]);

/** Annotations, the message, the other fields, and at debug level the stack of an error. */
function messageOf(info: Info): string {
  const { eventId, requestId, nodeId, error } = info;
  let text = '';
  if (eventId) text += `[e: ${idText(eventId)}] `;
  if (requestId) text += `[node_request: ${idText(requestId)}] `;
  if (nodeId) text += `[node: ${idText(nodeId)}] `;
  text += String(info.message);
  for (const key in info) {
    if (!PLACED.has(key)) text += ` ${key}=${fieldText(info[key])}`;
  }
  if (error === undefined) return text;
  if (!isErrorFacts(error)) return `${text} error=${fieldText(error)}`;
  text += ` error=${fieldText(summarize(error))}`;
  return error.stack === undefined ? text : `${text}\n${error.stack}`;
}

/** Quotes a value that is not a single word, so that no value can forge a line or a field. */
function fieldText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? String(value);
  return /^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value);
}

/** Quotes ids, which come from other programs: a bracket could end the annotation and start another. */
function idText(id: unknown): string {
  const text = fieldText(id);
  return /^[^"[\]]+$/.test(text) || text.startsWith('"') ? text : JSON.stringify(text);
}

/** Tokens of winston's timestamp format for each strftime directive. */
const MASKS: Readonly<Record<string, string>> = {
  Y: 'YYYY',
  y: 'YY',
  m: 'MM',
  d: 'DD',
  H: 'HH',
  I: 'hh',
  M: 'mm',
  S: 'ss',
  f: 'SSS[000]',
  p: 'A',
  a: 'ddd',
  A: 'dddd',
  b: 'MMM',
  B: 'MMMM',
  z: 'ZZ',
  Z: 'ZZ',
  T: 'HH:mm:ss',
  X: 'HH:mm:ss',
  F: 'YYYY-MM-DD',
  x: 'MM/DD/YY',
  c: 'ddd MMM D HH:mm:ss YYYY',
  '%': '%',
};

/** Default timestamp mask, such as `2026-11-21 09:00:00,123`. */
const DEFAULT_DATE_MASK = 'YYYY-MM-DD HH:mm:ss,SSS';

/** Translates a `datefmt` such as `%Y-%m-%d %H:%M` for winston's timestamps. Unknown directives are kept. */
function dateMask(dateFormat: string): string {
  return dateFormat.replace(/%([a-zA-Z%])|[a-zA-Z]+/g, (text: string, directive: string | undefined) =>
    directive === undefined ? `[${text}]` : (MASKS[directive] ?? `[${text}]`),
  );
}
