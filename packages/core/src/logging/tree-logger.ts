import type { Clock } from '@nodepool/zk-protocol';
import type { LogFields, Logger } from '../logger.js';
import type { LogHandler } from './handler.js';
import { LEVELS, type LogLevel } from './levels.js';
import type { LogRecord } from './log-record.js';

/** What is configured for one dotted name. */
export interface LoggerRule {
  /** `undefined` or 0: as the parent. */
  readonly level: number | undefined;
  readonly handlers: readonly LogHandler[];
  /** Whether the parents' handlers get the lines as well. */
  readonly propagate: boolean;
}

/** What a logger of some name does, worked out once. */
interface Effective {
  /** Level of the logger. */
  readonly level: number;
  /** Below this nothing is written, because neither the logger nor any handler takes it. */
  readonly threshold: number;
  readonly handlers: readonly LogHandler[];
}

/** The rules for all names. */
export class LoggerTree {
  readonly #effective = new Map<string, Effective>();

  constructor(
    private readonly root: LoggerRule,
    private readonly rules: ReadonlyMap<string, LoggerRule>,
  ) {}

  /** The same tree with handlers that get every line. */
  withHandlers(handlers: readonly LogHandler[]): LoggerTree {
    const root = { ...this.root, handlers: [...this.root.handlers, ...handlers] };
    // What stops before the root would miss them.
    const rules = [...this.rules].map(([name, rule]) => {
      const own = rule.propagate ? rule.handlers : [...rule.handlers, ...handlers];
      return [name, { ...rule, handlers: own }] as const;
    });
    return new LoggerTree(root, new Map(rules));
  }

  /** Rules of the name, else of its nearest configured parent. */
  effective(name: string): Effective {
    const known = this.#effective.get(name);
    if (known !== undefined) return known;
    const effective = this.#workOut(name);
    this.#effective.set(name, effective);
    return effective;
  }

  #workOut(name: string): Effective {
    const handlers: LogHandler[] = [];
    let level: number | undefined;
    let propagates = true;
    for (const rule of this.#chain(name)) {
      if (level === undefined && rule.level !== undefined && rule.level > 0) level = rule.level;
      if (propagates) handlers.push(...rule.handlers);
      propagates &&= rule.propagate;
    }
    level ??= LEVELS.warn;
    const lowest = handlers.reduce((least, handler) => Math.min(least, handler.level), Infinity);
    return { level, threshold: Math.max(level, lowest), handlers: [...new Set(handlers)] };
  }

  /** Rules from the name up to the root. */
  #chain(name: string): LoggerRule[] {
    const chain: LoggerRule[] = [];
    for (let current = name; current !== ''; current = current.slice(0, Math.max(0, current.lastIndexOf('.')))) {
      const rule = this.rules.get(current);
      if (rule !== undefined) chain.push(rule);
    }
    return [...chain, this.root];
  }
}

/** What all loggers of one set-up share. */
export interface LoggerRoot {
  readonly tree: LoggerTree;
  readonly clock: Pick<Clock, 'now'>;
}

const NO_FIELDS: LogFields = {};

/** Logger of one name in the tree. A line below the level costs one comparison. */
export class TreeLogger implements Logger {
  readonly #root: LoggerRoot;
  readonly #name: string;
  readonly #fields: LogFields;
  readonly #effective: Effective;
  readonly #threshold: number;

  constructor(root: LoggerRoot, name: string, fields: LogFields = NO_FIELDS) {
    this.#root = root;
    this.#name = name;
    this.#fields = fields;
    this.#effective = root.tree.effective(name);
    this.#threshold = this.#effective.threshold;
  }

  debug(message: string, fields?: LogFields): void {
    if (this.#threshold <= LEVELS.debug) this.#emit('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    if (this.#threshold <= LEVELS.info) this.#emit('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    if (this.#threshold <= LEVELS.warn) this.#emit('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    if (this.#threshold <= LEVELS.error) this.#emit('error', message, fields);
  }

  child(fields: LogFields, name?: string): Logger {
    const childName = name === undefined || name === '' ? this.#name : `${this.#name}.${name}`;
    return new TreeLogger(this.#root, childName, { ...this.#fields, ...fields });
  }

  #emit(level: LogLevel, message: string, own: LogFields | undefined): void {
    const record: LogRecord = {
      level,
      name: this.#name,
      message,
      fields: own === undefined ? this.#fields : { ...this.#fields, ...own },
      timeMs: this.#root.clock.now(),
      withStack: this.#effective.level <= LEVELS.debug,
    };
    const severity = LEVELS[level];
    for (const handler of this.#effective.handlers) {
      if (handler.level <= severity) handler.transport.write({ level, message, record });
    }
  }
}
