import type winston from 'winston';
import type { LogFields, Logger } from '../contract/logger.js';
import type { LogLevel } from './levels.js';
import type { LoggerTree, TreeEntry } from './logger-tree.js';

/** Keys used by winston or present in every line. A field with such a name gets a `_` suffix. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['level', 'message', 'logger', 'timestamp', 'exception', 'rejection', 'splat'],
]);

/**
 * Adapts a winston logger to the `Logger` interface: constant messages, fields, children. A line that no transport accepts
 * costs one comparison.
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
