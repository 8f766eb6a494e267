import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { transport as Transport } from 'winston';
import { type Clock, type JsonObject, systemClock, mapOf } from '@nodepool/zk-protocol';
import type winston from 'winston';
import { formatProblem } from '../config/problems.js';
import { parseSource } from '../config/source-document.js';
import { substituteEnvironment } from '../config/substitute.js';
import { LoggingError } from '../contract/errors.js';
import type { Logger, LogFields } from '../contract/logger.js';
import { type LoggerRules, rulesFromDict } from './dict-config.js';
import { dictFromIni } from './ini-config.js';
import { jsonFormat } from './json-format.js';
import type { LogLevel } from './levels.js';
import type { LogFailure, LogFile } from './log-file.js';
import { type LoggerRule, LoggerTree } from './logger-tree.js';
import { DEFAULT_TEXT_FORMAT, textFormat } from './text-format.js';
import { type LineTarget, lineTransport, openLogFile, type TransportResources } from './transports.js';
import type { TreeEntry } from './logger-tree.js';

/** Options of {@link createLogging}. */
export interface LoggingOptions {
  /**
   * Logging configuration file: Python's dictConfig in `.yaml`, `.yml` or `.json`, ini style otherwise. Overrides the
   * options from `level` to `levels`.
   */
  configFile?: string | undefined;
  /** Minimum severity. Default `info`. */
  level?: LogLevel | undefined;
  /** Default `stdout`. A file is reopened after another program rotates it. */
  destination?: 'stdout' | 'stderr' | { readonly file: string } | undefined;
  /** Default `text`. */
  format?: 'text' | 'json' | undefined;
  /** Levels that override `level`, by dotted logger name, e.g. `{'nodepool.zk': 'warn'}`. */
  levels?: Readonly<Record<string, LogLevel>> | undefined;
  /** Additional winston transports. They receive every line that passes the levels of the loggers. */
  transports?: readonly Transport[] | undefined;
  /** Called after a log file is reopened. */
  onReopen?: (() => void) | undefined;
  /** Called once when writing to a log file starts to fail. Default: a line on standard error. */
  onError?: ((error: unknown) => void) | undefined;
  /** Clock of log lines and rotation. Default: the system clock. */
  clock?: Clock | undefined;
  /** Default: standard output and standard error of the process. */
  streams?: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream } | undefined;
}

/** A logger and its outputs. */
export interface Logging {
  /** Named `nodepool`. */
  readonly logger: Logger;
  /** Flushes buffered lines and closes files. Call it before the process exits. Synchronous and idempotent. */
  readonly close: () => void;
  /** Log files that cannot be written now. */
  readonly failures: () => readonly LogFailure[];
}

/**
 * Sets up logging.
 * @throws {LoggingError} the configuration cannot be read or is invalid, or a log file cannot be written
 */
export function createLogging(options: LoggingOptions): Logging {
  const files: LogFile[] = [];
  const streams = options.streams ?? { stdout: process.stdout, stderr: process.stderr };
  const onError =
    options.onError ?? ((error) => void streams.stderr.write(`nodepool: cannot write the log: ${String(error)}\n`));
  const resources: TransportResources = {
    ...streams,
    clock: options.clock ?? systemClock,
    onReopen: options.onReopen,
    onError,
    onFile: (file) => files.push(file),
  };
  const closeFiles = () => files.splice(0).forEach((file) => file.close());
  try {
    const { root, rules } = withTransports(readRules(options, resources), options.transports);
    const tree = new LoggerTree(root, rules, onError);
    const close = () => {
      tree.close();
      closeFiles();
    };
    const failures = () => files.flatMap(({ failure }) => failure ?? []);
    return { logger: new NamedLogger(tree, 'nodepool'), close, failures };
  } catch (error) {
    closeFiles();
    throw error;
  }
}

function readRules(options: LoggingOptions, resources: TransportResources): LoggerRules {
  const { configFile } = options;
  if (configFile !== undefined) return rulesFromDict(readDict(configFile), configFile, resources);
  const { level = 'info', format = 'text', levels = {} } = options;
  const { clock } = resources;
  const lines = format === 'json' ? jsonFormat(clock) : textFormat(DEFAULT_TEXT_FORMAT, clock);
  const transport = lineTransport(targetOf(options, resources), lines);
  const rules = Object.entries(levels).map(
    ([name, own]) => [name, { level: own, transports: [], propagate: true }] as const,
  );
  return { root: { level, transports: [transport], propagate: false }, rules: new Map(rules) };
}

function targetOf({ destination = 'stdout' }: LoggingOptions, resources: TransportResources): LineTarget {
  if (destination === 'stdout') return resources.stdout;
  if (destination === 'stderr') return resources.stderr;
  return openLogFile(destination.file, resources, (reason) => {
    throw new LoggingError(`log file ${reason}`);
  });
}

/** Adds transports to the root logger and to every logger that does not propagate, so that they receive every line. */
function withTransports({ root, rules }: LoggerRules, transports: readonly Transport[] = []): LoggerRules {
  for (const transport of transports) transport.level ??= 'debug'; // else winston uses the level of a logger
  const add = (rule: LoggerRule) => ({ ...rule, transports: [...rule.transports, ...transports] });
  const all = [...rules].map(([name, rule]) => [name, rule.propagate ? rule : add(rule)] as const);
  return { root: add(root), rules: new Map(all) };
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

/** Keys used by winston or present in every line. A field with such a name gets a `_` suffix. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['level', 'message', 'logger', 'timestamp', 'exception', 'rejection', 'splat'],
]);

/**
 * Adapts a winston logger to the `Logger` interface: constant messages, fields, children. A line that no transport accepts
 * costs one comparison.
 */
class NamedLogger implements Logger {
  readonly #tree: LoggerTree;
  readonly #name: string;
  readonly #fields: LogFields;
  readonly #takes: TreeEntry['takes'];
  readonly #winston: winston.Logger;

  constructor(tree: LoggerTree, name: string, fields: LogFields = {}) {
    const entry = tree.find(name);
    this.#tree = tree;
    this.#name = name;
    this.#fields = fields;
    this.#takes = entry.takes;
    this.#winston = entry.winston;
  }

  debug(message: string, fields?: LogFields): void {
    if (this.#takes.debug) this.#write('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    if (this.#takes.info) this.#write('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    if (this.#takes.warn) this.#write('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    if (this.#takes.error) this.#write('error', message, fields);
  }

  child(fields: LogFields, name?: string): Logger {
    return new NamedLogger(this.#tree, nameOfChild(this.#name, name), { ...this.#fields, ...unreserved(fields) });
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    // One object per line: a winston child logger would copy it again.
    const line = { logger: this.#name, ...this.#fields, ...(fields && unreserved(fields)), level, message };
    this.#winston.log(line);
  }
}

function nameOfChild(parent: string, name: string | undefined): string {
  if (name === undefined || name === '') return parent;
  return name.startsWith('nodepool.') ? name : `${parent}.${name}`;
}

function unreserved(fields: LogFields): LogFields {
  for (const key in fields) if (RESERVED.has(key)) return renamed(fields);
  return fields;
}

function renamed(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [RESERVED.has(key) ? `${key}_` : key, value]));
}
