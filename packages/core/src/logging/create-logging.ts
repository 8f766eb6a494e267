import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type Transport from 'winston-transport';
import { type Clock, type JsonObject, systemClock } from '@nodepool/zk-protocol';
import { formatProblem } from '../config/problems.js';
import { mapOf } from '../config/raw-values.js';
import { parseSource } from '../config/source-document.js';
import { substituteEnvironment } from '../config/substitute.js';
import { LoggingError } from '../errors.js';
import type { Logger } from '../logger.js';
import { type HandlerResources, openFile, treeFromDict } from './dict-config.js';
import { LineTransport, type LineSink, type LogHandler, streamSink } from './handler.js';
import { dictFromIni } from './ini-config.js';
import { formatJson } from './json-format.js';
import { LEVELS, type LogLevel } from './levels.js';
import { compileTextFormat, DEFAULT_TEXT_FORMAT } from './text-format.js';
import { LoggerTree, TreeLogger } from './tree-logger.js';

/** What {@link createLogging} makes a logger from. */
export interface LoggingOptions {
  /**
   * Logging configuration of an installation: Python's dictConfig in `.yaml`, `.yml` or `.json`, else its ini style. The
   * options from `level` to `levels` then do not count.
   */
  configFile?: string | undefined;
  /** Least severity. Default `info`. */
  level?: LogLevel | undefined;
  /** Default `stdout`. A file is opened anew after another program rotated it. */
  destination?: 'stdout' | 'stderr' | { readonly file: string } | undefined;
  /** Default `text`. */
  format?: 'text' | 'json' | undefined;
  /** Levels of loggers by dotted name where they differ, e.g. `{'nodepool.zk': 'warn'}`. */
  levels?: Readonly<Record<string, LogLevel>> | undefined;
  /** Further winston transports that get every line the loggers let through. */
  transports?: readonly Transport[] | undefined;
  /** Called after a log file was opened anew. */
  onReopen?: (() => void) | undefined;
  /** Called when a log file cannot be written, once until it can be again. Default: a line on standard error. */
  onError?: ((error: unknown) => void) | undefined;
  /** Gives the lines their times. Default: the machine's clock. */
  clock?: Clock | undefined;
  /** Default: those of the process. */
  streams?: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream } | undefined;
}

/** A logger and what it writes to. */
export interface Logging {
  /** Named `nodepool`. */
  readonly logger: Logger;
  /** Writes what is waiting and closes files. Works at once, so that it can be called before an exit. */
  readonly close: () => void;
}

/**
 * Sets logging up.
 * @throws {LoggingError} the configuration cannot be read or is wrong, or a file cannot be written
 */
export function createLogging(options: LoggingOptions): Logging {
  const opened: LogHandler[] = [];
  const { clock = systemClock } = options;
  const streams = options.streams ?? { stdout: process.stdout, stderr: process.stderr };
  const resources: HandlerResources = {
    ...streams,
    clock,
    onReopen: options.onReopen,
    onError:
      options.onError ?? ((error) => void streams.stderr.write(`nodepool: cannot write the log: ${String(error)}\n`)),
    onHandler: (handler) => opened.push(handler),
  };
  const close = () => opened.splice(0).forEach(({ transport }) => transport.close?.());
  try {
    const tree =
      options.configFile === undefined
        ? treeFromOptions(options, resources)
        : treeFromFile(options.configFile, resources);
    return { logger: new TreeLogger({ tree: withTransports(tree, options.transports), clock }, 'nodepool'), close };
  } catch (error) {
    close();
    throw error;
  }
}

function treeFromOptions(options: LoggingOptions, resources: HandlerResources): LoggerTree {
  const { level = 'info', format = 'text', levels = {} } = options;
  const lineFormat = format === 'json' ? formatJson : compileTextFormat(DEFAULT_TEXT_FORMAT);
  const handler = { level: 0, transport: new LineTransport(lineFormat, sinkOf(options, resources)) };
  resources.onHandler(handler);
  const rules = Object.entries(levels).map(
    ([name, own]) => [name, { level: LEVELS[own], handlers: [], propagate: true }] as const,
  );
  return new LoggerTree({ level: LEVELS[level], handlers: [handler], propagate: false }, new Map(rules));
}

function sinkOf({ destination = 'stdout' }: LoggingOptions, resources: HandlerResources): LineSink {
  if (destination === 'stdout') return streamSink(resources.stdout);
  if (destination === 'stderr') return streamSink(resources.stderr);
  return openFile(destination.file, resources, (reason) => {
    throw new LoggingError(`log file ${reason}`);
  });
}

function withTransports(tree: LoggerTree, transports: readonly Transport[] = []): LoggerTree {
  return transports.length === 0 ? tree : tree.withHandlers(transports.map((transport) => ({ level: 0, transport })));
}

function treeFromFile(file: string, resources: HandlerResources): LoggerTree {
  return treeFromDict(readDict(file), file, resources);
}

function readDict(file: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LoggingError(`logging configuration ${file} cannot be read: ${reason}`, { cause: error });
  }
  if (!['.yaml', '.yml', '.json'].includes(extname(file))) return dictFromIni(text, file);
  const document = parseSource(file, text, substituteEnvironment(text, {}));
  const errors = document.problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new LoggingError(errors.map(formatProblem).join('\n'));
  return mapOf(document.value);
}
