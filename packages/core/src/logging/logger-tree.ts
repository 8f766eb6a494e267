import winston from 'winston';
import { LEVELS, type LogLevel, type Threshold } from './levels.js';
import { plainFields } from './plain-fields.js';

/** Configuration of one dotted logger name. */
export interface LoggerRule {
  /** `undefined`: inherited from the parent. */
  readonly level: Threshold | undefined;
  /** Outputs of the logger, each with its own level. */
  readonly transports: readonly winston.transport[];
  /** Whether the transports of the parents also receive the lines. */
  readonly propagate: boolean;
}

/** The winston logger of a name, and the severities that reach any of its transports. */
export interface TreeEntry {
  readonly winston: winston.Logger;
  readonly takes: Readonly<Record<LogLevel, boolean>>;
}

const ROOT = '';

/**
 * Hierarchy of named loggers, as in Python's logging; winston's container has no hierarchy. A name without a rule uses
 * the winston logger of its nearest configured parent.
 */
export class LoggerTree {
  readonly #container = new winston.Container();
  readonly #entries = new Map<string, TreeEntry>();
  readonly #rules: ReadonlyMap<string, LoggerRule>;

  /** @param onError - called with errors of transports */
  constructor(
    root: LoggerRule,
    rules: ReadonlyMap<string, LoggerRule>,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#rules = new Map([...rules, [ROOT, { ...root, level: root.level ?? 'warn' }]]);
  }

  /** Returns the logger of the name, or of its nearest configured parent. */
  find(name: string): TreeEntry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = name === ROOT || this.#rules.has(name) ? this.#create(name) : this.find(parentOf(name));
      this.#entries.set(name, entry);
    }
    return entry;
  }

  /** Passes buffered lines to the transports immediately. Later lines are lost. */
  close(): void {
    for (const { winston: logger } of this.#entries.values()) {
      while (logger.read() !== null); // drain lines that winston's stream buffers until the next tick
      logger.silent = true;
    }
    this.#container.close();
  }

  #create(name: string): TreeEntry {
    const { level, transports } = this.#effective(name);
    const logger = this.#container.add(name, {
      levels: LEVELS,
      level,
      format: plainFields(level === 'debug'),
      silent: transports.length === 0,
      transports,
    });
    logger.on('error', this.onError);
    const takes = (severity: LogLevel): boolean =>
      transports.length > 0 && LEVELS[severity] <= LEVELS[level] && logger.isLevelEnabled(severity);
    return {
      winston: logger,
      takes: { debug: takes('debug'), info: takes('info'), warn: takes('warn'), error: takes('error') },
    };
  }

  #effective(name: string): { level: Threshold; transports: winston.transport[] } {
    const transports = new Set<winston.transport>();
    let level: Threshold | undefined;
    let propagates = true;
    for (const rule of this.#chain(name)) {
      level ??= rule.level;
      if (propagates) rule.transports.forEach((transport) => transports.add(transport));
      propagates &&= rule.propagate;
    }
    return { level: level ?? 'warn', transports: [...transports] };
  }

  /** Rules from the name up to the root. */
  *#chain(name: string): Generator<LoggerRule> {
    for (let current = name; ; current = parentOf(current)) {
      const rule = this.#rules.get(current);
      if (rule !== undefined) yield rule;
      if (current === ROOT) return;
    }
  }
}

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('.')));
}
