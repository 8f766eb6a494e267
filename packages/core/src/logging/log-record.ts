import type { LogFields } from '../logger.js';
import type { LogLevel } from './levels.js';

/** One line on its way to the handlers. */
export interface LogRecord {
  readonly level: LogLevel;
  /** Dotted name of the logger. */
  readonly name: string;
  readonly message: string;
  /** The logger's fields with the line's own over them; empty when there are none. */
  readonly fields: Readonly<LogFields>;
  /** Milliseconds since the UNIX epoch. */
  readonly timeMs: number;
  /** Whether the logger is at debug level, where errors show their stack. */
  readonly withStack: boolean;
}
