import { dirname } from 'node:path';
import { createLogging } from '@nodepool/core/service';
import type { Logging } from '@nodepool/core/service';
import type { CommonArguments } from './arguments.js';

/**
 * Logging as configured on the command line. Writes the last lines however the process exits.
 * @param logFile - of a daemon, without `-l`
 * @throws LoggingError
 */
export function createServiceLogging(args: CommonArguments, logFile: string): Logging {
  const logging = createLogging({
    configFile: args.logConfigFile,
    level: args.debug ? 'debug' : 'info',
    destination: args.foreground ? 'stdout' : { file: logFile },
  });
  process.once('exit', logging.close);
  return logging;
}

/** Directories for CPU profiles: beside the log, else the temporary directory. The working directory of a daemon is `/`. */
export function profileDirs(args: CommonArguments, logFile: string, tmpdir: string): string[] {
  return [args.foreground ? process.cwd() : dirname(logFile), tmpdir];
}
