import type { Logform, transport as Transport } from 'winston';
import { mapOf, numberOf, textOf, textsOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { didYouMean } from '../text/suggest.js';
import { LoggingError } from '../contract/errors.js';
import { jsonFormat } from './json-format.js';
import { parseLevel, type Threshold } from './levels.js';
import type { LogFile, LogFileOptions } from './log-file.js';
import type { LoggerRule } from './logger-tree.js';
import { rotateBySize, rotateByTime } from './rotation.js';
import { textFormat } from './text-format.js';
import { type LineTarget, lineTransport, openLogFile, type TransportResources } from './transports.js';

/** Rules for all logger names. */
export interface LoggerRules {
  readonly root: LoggerRule;
  readonly rules: ReadonlyMap<string, LoggerRule>;
}

/** Throws a {@link LoggingError} that names the place, such as `handlers.file`. */
type Fail = (place: string, message: string) => never;

/** Python's default format of a handler without a formatter. */
const BARE_FORMAT = '%(message)s';

/**
 * Reads logger rules from a subset of Python's `logging.config.dictConfig` schema, version 1.
 * @param origin - file name for error messages
 * @throws {LoggingError} an entry is invalid or not supported
 */
export function rulesFromDict(config: JsonObject, origin: string, resources: TransportResources): LoggerRules {
  const fail: Fail = (place, message) => {
    throw new LoggingError(`logging configuration ${origin}: ${place}: ${message}`);
  };
  if (config['version'] !== 1) fail('version', 'expected 1');
  const formats = new Map<string, Logform.Format>();
  for (const [name, spec] of Object.entries(mapOf(config['formatters']))) {
    formats.set(name, formatOf(mapOf(spec), `formatters.${name}`, resources, fail));
  }
  const transports = new Map<string, Transport | undefined>();
  for (const [name, spec] of Object.entries(mapOf(config['handlers']))) {
    transports.set(name, transportOf(mapOf(spec), `handlers.${name}`, formats, resources, fail));
  }
  const rules = new Map<string, LoggerRule>();
  for (const [name, spec] of Object.entries(mapOf(config['loggers']))) {
    rules.set(name, ruleOf(mapOf(spec), `loggers.${name}`, transports, fail));
  }
  const root = ruleOf(mapOf(config['root']), 'root', transports, fail);
  return { root: rules.get('') ?? rules.get('root') ?? root, rules };
}

/** Recognizes JSON formatters by class or factory. Of all other classes, only the format is used. */
function formatOf(spec: JsonObject, place: string, { clock }: TransportResources, fail: Fail): Logform.Format {
  const factory = `${textOf(spec['class']) ?? ''} ${textOf(spec['()']) ?? ''}`;
  if (/json/i.test(factory)) return jsonFormat(clock);
  const style = textOf(spec['style']) ?? '%';
  if (style !== '%') fail(place, `style "${style}" is not supported, expected formats such as "%(message)s"`);
  try {
    return textFormat(textOf(spec['format']) ?? BARE_FORMAT, clock, textOf(spec['datefmt']));
  } catch (error) {
    return fail(place, error instanceof Error ? error.message : String(error));
  }
}

/** @returns `undefined` for a handler that discards */
function transportOf(
  spec: JsonObject,
  place: string,
  formats: ReadonlyMap<string, Logform.Format>,
  resources: TransportResources,
  fail: Fail,
): Transport | undefined {
  const level = levelOf(spec['level'], place, fail);
  const stream = targetOf(spec, place, resources, fail);
  if (stream === undefined) return undefined;
  const formatter = textOf(spec['formatter']);
  const format = formatter === undefined ? textFormat(BARE_FORMAT, resources.clock) : formats.get(formatter);
  if (format === undefined) {
    return fail(place, `formatter "${formatter}" is not defined${didYouMean(formatter ?? '', formats.keys())}`);
  }
  return lineTransport(stream, format, level);
}

const SUPPORTED =
  'StreamHandler, FileHandler, WatchedFileHandler, RotatingFileHandler, TimedRotatingFileHandler, NullHandler';

/** @returns `undefined` for a handler that discards */
function targetOf(spec: JsonObject, place: string, resources: TransportResources, fail: Fail): LineTarget | undefined {
  const className = textOf(spec['class']) ?? '';
  switch (className.replace(/^logging\.(?:handlers\.)?|^handlers\./, '')) {
    case 'NullHandler':
      return undefined;
    case 'StreamHandler':
      return streamOf(spec['stream'], place, resources, fail);
    case 'FileHandler':
    case 'WatchedFileHandler':
      return logFileOf(spec, place, resources, fail);
    case 'RotatingFileHandler': {
      const rotation = rotateBySize(numberOf(spec['maxBytes']) ?? 0, numberOf(spec['backupCount']) ?? 0);
      return logFileOf(spec, place, { ...resources, rotation }, fail);
    }
    case 'TimedRotatingFileHandler': {
      const when = textOf(spec['when']) ?? 'h';
      const backups = numberOf(spec['backupCount']) ?? 0;
      const interval = numberOf(spec['interval']) ?? 1;
      const rotation = rotateByTime({
        file: textOf(spec['filename']) ?? '',
        when,
        interval,
        backupCount: backups,
        nowMs: resources.clock.now(),
      });
      if (rotation === undefined)
        return fail(place, `when "${when}" is not known, expected S, M, H, D, midnight or W0-W6`);
      return logFileOf(spec, place, { ...resources, rotation }, fail);
    }
    default:
      return fail(place, `class "${className}" is not supported, expected one of ${SUPPORTED}`);
  }
}

function streamOf(
  value: Json | undefined,
  place: string,
  resources: TransportResources,
  fail: Fail,
): NodeJS.WritableStream {
  const name = textOf(value) ?? 'ext://sys.stderr';
  if (name === 'ext://sys.stdout' || name === 'sys.stdout') return resources.stdout;
  if (name === 'ext://sys.stderr' || name === 'sys.stderr') return resources.stderr;
  return fail(place, `stream "${name}" is not known, expected ext://sys.stdout or ext://sys.stderr`);
}

function logFileOf(
  spec: JsonObject,
  place: string,
  options: LogFileOptions & Pick<TransportResources, 'onFile'>,
  fail: Fail,
): LogFile {
  const filename = textOf(spec['filename']);
  if (filename === undefined) return fail(place, 'the key "filename" is missing');
  return openLogFile(filename, options, (reason) => fail(place, reason));
}

function ruleOf(
  spec: JsonObject,
  place: string,
  known: ReadonlyMap<string, Transport | undefined>,
  fail: Fail,
): LoggerRule {
  const transports = textsOf(spec['handlers']).flatMap((name) => {
    if (!known.has(name)) fail(place, `handler "${name}" is not defined${didYouMean(name, known.keys())}`);
    return known.get(name) ?? [];
  });
  const propagate = spec['propagate'] !== false && spec['propagate'] !== 0;
  return { level: levelOf(spec['level'], place, fail), transports, propagate };
}

/** @returns `undefined` when none is set */
function levelOf(value: Json | undefined, place: string, fail: Fail): Threshold | undefined {
  if (value === undefined || value === null) return undefined;
  const level = parseLevel(value);
  if (level === 'notset') return undefined;
  return (
    level ??
    fail(place, `level ${JSON.stringify(value)} is not known, expected DEBUG, INFO, WARNING, ERROR or CRITICAL`)
  );
}
