import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { transport as Transport } from 'winston';
import { type Clock, type JsonObject, systemClock } from '@nodepool/zk-protocol';
import { formatProblem } from '../config/problems.js';
import { mapOf } from '../config/raw-values.js';
import { parseSource } from '../config/source-document.js';
import { substituteEnvironment } from '../config/substitute.js';
import { LoggingError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';
import { type LoggerRules, rulesFromDict } from './dict-config.js';
import { dictFromIni } from './ini-config.js';
import { jsonFormat } from './json-format.js';
import type { LogLevel } from './levels.js';
import type { LogFile } from './log-file.js';
import { type LoggerRule, LoggerTree } from './logger-tree.js';
import { NamedLogger } from './named-logger.js';
import { DEFAULT_TEXT_FORMAT, textFormat } from './text-format.js';
import { type LineTarget, lineTransport, openLogFile, type TransportResources } from './transports.js';

/** What {@link createLogging} makes a logger from. */
export interface LoggingOptions {
  /**
   * Logging configuration of an installation: Python's dictConfig in `.yaml`, `.yml` or `.json`, else its ini style. The
   * options from `level` to `levels` then do not count.
   */
  configFile?: string | undefined;
  /** Least severity. Default `info`. */
  level?: LogLevel | undefined;
  /** Default `stdout`. A file is reopened after another program has rotated it. */
  destination?: 'stdout' | 'stderr' | { readonly file: string } | undefined;
  /** Default `text`. */
  format?: 'text' | 'json' | undefined;
  /** Levels of loggers by dotted name where they differ, e.g. `{'nodepool.zk': 'warn'}`. */
  levels?: Readonly<Record<string, LogLevel>> | undefined;
  /** Further winston transports that get every line the loggers let through. */
  transports?: readonly Transport[] | undefined;
  /** Called after a log file was reopened. */
  onReopen?: (() => void) | undefined;
  /** Called when a log file cannot be written, once until it can be again. Default: a line on standard error. */
  onError?: ((error: unknown) => void) | undefined;
  /** Clock of log lines and rotation. Default: the system clock. */
  clock?: Clock | undefined;
  /** Default: those of the process. */
  streams?: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream } | undefined;
}

/** A logger and what it writes to. */
export interface Logging {
  /** Named `nodepool`. */
  readonly logger: Logger;
  /** Writes what is waiting and closes files. To be called before the process exits; works at once, more than once. */
  readonly close: () => void;
}

/**
 * Sets logging up.
 * @throws {LoggingError} the configuration cannot be read or is wrong, or a file cannot be written
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
    return { logger: new NamedLogger(tree, 'nodepool'), close };
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

/** Transports that get every line: those of names whose lines stop before the root included. */
function withTransports({ root, rules }: LoggerRules, transports: readonly Transport[] = []): LoggerRules {
  for (const transport of transports) transport.level ??= 'debug'; // else it takes the level of one of its loggers
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
