import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { mapOf, numberOf, textOf, textsOf } from '../config/raw-values.js';
import { didYouMean } from '../config/suggest.js';
import { LoggingError } from '../errors.js';
import { FileWriter, type FileWriterOptions, rotateBySize } from './file-writer.js';
import { LineTransport, type LineSink, type LogHandler, streamSink } from './handler.js';
import { formatJson } from './json-format.js';
import { LEVELS, parseLevel } from './levels.js';
import { rotateByTime } from './rotate-by-time.js';
import { compileTextFormat, type LineFormat } from './text-format.js';
import { type LoggerRule, LoggerTree } from './tree-logger.js';

/** What handlers are made of. */
export interface HandlerResources extends Pick<FileWriterOptions, 'clock' | 'onReopen' | 'onError'> {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Told of every handler made, so that it can be closed. */
  onHandler(handler: LogHandler): void;
}

/** Throws a {@link LoggingError} that names the place, such as `handlers.file`. */
type Fail = (place: string, message: string) => never;

/** Python's default format of a handler without a formatter. */
const BARE_FORMAT = '%(message)s';

/**
 * Builds loggers from the schema of Python's `logging.config.dictConfig`, version 1, as far as installations use it.
 * @param origin - the file's name for messages
 * @throws {LoggingError} something in it is wrong or not supported
 */
export function treeFromDict(config: JsonObject, origin: string, resources: HandlerResources): LoggerTree {
  const fail: Fail = (place, message) => {
    throw new LoggingError(`logging configuration ${origin}: ${place}: ${message}`);
  };
  if (config['version'] !== 1) fail('version', 'expected 1');
  const formats = new Map<string, LineFormat>();
  for (const [name, spec] of Object.entries(mapOf(config['formatters']))) {
    formats.set(name, formatOf(mapOf(spec), `formatters.${name}`, fail));
  }
  const handlers = new Map<string, LogHandler | undefined>();
  for (const [name, spec] of Object.entries(mapOf(config['handlers']))) {
    const handler = handlerOf(mapOf(spec), `handlers.${name}`, formats, resources, fail);
    if (handler !== undefined) resources.onHandler(handler);
    handlers.set(name, handler);
  }
  const rules = new Map<string, LoggerRule>();
  for (const [name, spec] of Object.entries(mapOf(config['loggers']))) {
    rules.set(name, ruleOf(mapOf(spec), `loggers.${name}`, handlers, fail));
  }
  const root = ruleOf(mapOf(config['root']), 'root', handlers, fail);
  const rootOfTree = { ...root, level: root.level ?? LEVELS.warn };
  return new LoggerTree(rules.get('') ?? rules.get('root') ?? rootOfTree, rules);
}

/** JSON formatters are known by their class or factory; of other classes only the format counts. */
function formatOf(spec: JsonObject, place: string, fail: Fail): LineFormat {
  const factory = `${textOf(spec['class']) ?? ''} ${textOf(spec['()']) ?? ''}`;
  if (/json/i.test(factory)) return formatJson;
  const style = textOf(spec['style']) ?? '%';
  if (style !== '%') fail(place, `style "${style}" is not supported, expected formats such as "%(message)s"`);
  try {
    return compileTextFormat(textOf(spec['format']) ?? BARE_FORMAT, textOf(spec['datefmt']));
  } catch (error) {
    return fail(place, error instanceof Error ? error.message : String(error));
  }
}

function handlerOf(
  spec: JsonObject,
  place: string,
  formats: ReadonlyMap<string, LineFormat>,
  resources: HandlerResources,
  fail: Fail,
): LogHandler | undefined {
  const level = levelOf(spec['level'], place, fail) ?? 0;
  const sink = sinkOf(spec, place, resources, fail);
  if (sink === undefined) return undefined;
  const formatter = textOf(spec['formatter']);
  const format = formatter === undefined ? compileTextFormat(BARE_FORMAT) : formats.get(formatter);
  if (format === undefined) {
    return fail(place, `formatter "${formatter}" is not defined${didYouMean(formatter ?? '', formats.keys())}`);
  }
  return { level, transport: new LineTransport(format, sink) };
}

const SUPPORTED =
  'StreamHandler, FileHandler, WatchedFileHandler, RotatingFileHandler, TimedRotatingFileHandler, NullHandler';

/** @returns `undefined` for a handler that discards */
function sinkOf(spec: JsonObject, place: string, resources: HandlerResources, fail: Fail): LineSink | undefined {
  const className = textOf(spec['class']) ?? '';
  switch (className.replace(/^logging\.(?:handlers\.)?|^handlers\./, '')) {
    case 'NullHandler':
      return undefined;
    case 'StreamHandler':
      return streamSink(streamOf(spec['stream'], place, resources, fail));
    case 'FileHandler':
    case 'WatchedFileHandler':
      return fileSink(spec, place, resources, fail);
    case 'RotatingFileHandler': {
      const rotation = rotateBySize(numberOf(spec['maxBytes']) ?? 0, numberOf(spec['backupCount']) ?? 0);
      return fileSink(spec, place, { ...resources, rotation }, fail);
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
      return fileSink(spec, place, { ...resources, rotation }, fail);
    }
    default:
      return fail(place, `class "${className}" is not supported, expected one of ${SUPPORTED}`);
  }
}

function streamOf(
  value: Json | undefined,
  place: string,
  resources: HandlerResources,
  fail: Fail,
): NodeJS.WritableStream {
  const name = textOf(value) ?? 'ext://sys.stderr';
  if (name === 'ext://sys.stdout' || name === 'sys.stdout') return resources.stdout;
  if (name === 'ext://sys.stderr' || name === 'sys.stderr') return resources.stderr;
  return fail(place, `stream "${name}" is not known, expected ext://sys.stdout or ext://sys.stderr`);
}

function fileSink(spec: JsonObject, place: string, options: FileWriterOptions, fail: Fail): LineSink {
  const filename = textOf(spec['filename']);
  if (filename === undefined) return fail(place, 'the key "filename" is missing');
  return openFile(filename, options, (reason) => fail(place, reason));
}

/** Opens a log file. @param fail - called with the reason when it cannot be written */
export function openFile(filename: string, options: FileWriterOptions, fail: (reason: string) => never): FileWriter {
  try {
    return new FileWriter(filename, options);
  } catch (error) {
    return fail(`${filename} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function ruleOf(
  spec: JsonObject,
  place: string,
  known: ReadonlyMap<string, LogHandler | undefined>,
  fail: Fail,
): LoggerRule {
  const handlers = textsOf(spec['handlers']).flatMap((name) => {
    if (!known.has(name)) fail(place, `handler "${name}" is not defined${didYouMean(name, known.keys())}`);
    return known.get(name) ?? [];
  });
  const propagate = spec['propagate'] !== false && spec['propagate'] !== 0;
  return { level: levelOf(spec['level'], place, fail), handlers, propagate };
}

function levelOf(value: Json | undefined, place: string, fail: Fail): number | undefined {
  if (value === undefined || value === null) return undefined;
  const level = parseLevel(value);
  return (
    level ??
    fail(place, `level ${JSON.stringify(value)} is not known, expected DEBUG, INFO, WARNING, ERROR or CRITICAL`)
  );
}
