import type { Logger } from '@nodepool/core';
import type { LogOptions } from './parser.js';
import { createStderrLogger } from './stderr-logger.js';

/** Warnings go to standard error, everything with `--debug`; `-l` decides for itself. */
export function createLogger(options: LogOptions): Promise<Logger> {
  return Promise.resolve(createStderrLogger(options.debug ? 'debug' : 'warn'));
}
