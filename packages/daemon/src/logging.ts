import { dirname } from 'node:path';
import { createLogging } from '@nodepool/core/service';
import type { Logging } from '@nodepool/core/service';
import type { CommonArguments } from './arguments.js';

/** Logging as the command line asks for it. @param logFile - of a daemon, without `-l` @throws LoggingError */
export function createServiceLogging(args: CommonArguments, logFile: string): Logging {
  return createLogging({
    configFile: args.logConfigFile,
    level: args.debug ? 'debug' : 'info',
    destination: args.foreground ? 'stdout' : { file: logFile },
  });
}

/** Where a CPU profile goes: beside the log, else where anybody may write. A daemon's own directory is `/`. */
export function profileDirs(args: CommonArguments, logFile: string, tmpdir: string): string[] {
  return [args.foreground ? process.cwd() : dirname(logFile), tmpdir];
}
