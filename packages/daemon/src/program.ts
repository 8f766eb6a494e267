import type { Logger } from '@nodepool/core';
import type { LogFailure } from '@nodepool/core/service';
import type { Clock } from '@nodepool/zk-protocol';
import type { CommandLine, CommonArguments } from './arguments.js';
import type { DaemonService } from './service.js';

/** Parameters from the process to its service. */
export interface ServiceContext<Args extends CommonArguments> {
  readonly args: Args;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Log files that cannot be written now. */
  readonly logFailures?: (() => readonly LogFailure[]) | undefined;
  readonly version: string;
  /** Fully qualified. */
  readonly hostname: string;
  /** Directories for CPU profiles, best first. */
  readonly profileDirs: readonly string[];
}

/** A service as a program. */
export interface Program<Args extends CommonArguments> {
  readonly commandLine: CommandLine<Args>;
  readonly version: string;
  /** Default log file of a daemon. */
  readonly logFile: string;
  /** Creates the service. Loads its modules only then, so that `--help` is fast. */
  createService(context: ServiceContext<Args>): Promise<DaemonService>;
}
