import { dirname } from 'node:path';
import { createLogging } from '@nodepool/core';
import type { Logging } from '@nodepool/core';
import type { LauncherArguments } from './arguments.js';

/** Where a daemon logs without `-l`. */
const DAEMON_LOG = '/var/log/nodepool/nodepool.log';

/** Logging as the command line asks for it. @throws LoggingError */
export function createLauncherLogging(args: LauncherArguments): Logging {
  return createLogging({
    configFile: args.logConfigFile,
    level: args.debug ? 'debug' : 'info',
    destination: args.foreground ? 'stdout' : { file: DAEMON_LOG },
  });
}

/** Where a CPU profile goes: beside the log, else where anybody may write. A daemon's own directory is `/`. */
export function profileDirs(args: LauncherArguments, tmpdir: string): string[] {
  return [args.foreground ? process.cwd() : dirname(DAEMON_LOG), tmpdir];
}
