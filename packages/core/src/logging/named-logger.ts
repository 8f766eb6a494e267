import type winston from 'winston';
import type { LogFields, Logger } from '../contract/logger.js';
import type { LogLevel } from './levels.js';
import type { LoggerTree, TreeEntry } from './logger-tree.js';

/** Keys that winston uses or that every line has: a field of such a name gets a `_` at its end. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['level', 'message', 'logger', 'timestamp', 'exception', 'rejection', 'splat'],
]);

/**
 * Adapts winston's loggers to the interface of this code: constant messages, fields, children. A line that no transport takes costs
 * one comparison.
 */
export class NamedLogger implements Logger {
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
    // One object a line: a winston child would copy it once more.
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
