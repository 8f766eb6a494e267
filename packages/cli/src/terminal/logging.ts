import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@nodepool/core';
import type { LogOptions } from '../command/global-options.js';

/** Warnings go to standard error, everything with `--debug`; a logging configuration decides for itself. */
export async function createLogger({ logConfigFile, debug }: LogOptions): Promise<Logger> {
  const { createLogging } = await import('@nodepool/core/service');
  const configFile = logConfigFile?.startsWith('~/') ? join(homedir(), logConfigFile.slice(2)) : logConfigFile;
  const { logger, close } = createLogging({ configFile, level: debug ? 'debug' : 'warn', destination: 'stderr' });
  process.once('exit', close);
  return logger;
}
