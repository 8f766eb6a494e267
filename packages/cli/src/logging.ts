import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@nodepool/core';
import type { LogOptions } from './parser.js';
import { createStderrLogger } from './stderr-logger.js';

/** Warnings go to standard error, everything with `--debug`; a logging configuration decides for itself. */
export async function createLogger({ logConfigFile, debug }: LogOptions): Promise<Logger> {
  if (logConfigFile === undefined) return createStderrLogger(debug ? 'debug' : 'warn');
  const { createLogging } = await import('@nodepool/core');
  const configFile = logConfigFile.startsWith('~/') ? join(homedir(), logConfigFile.slice(2)) : logConfigFile;
  return createLogging({ configFile }).logger;
}
