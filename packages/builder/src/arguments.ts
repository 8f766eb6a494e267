import {
  COMMON_TO_ARGV,
  UsageError,
  type CommandLine,
  type CommonArguments,
  type ParsedOptions,
} from '@nodepool/daemon';

/** Parsed command line with absolute paths. */
export interface BuilderArguments extends CommonArguments {
  /** Maximum number of concurrent builds. */
  readonly buildWorkers: number;
  /** Maximum number of concurrent uploads. */
  readonly uploadWorkers: number;
}

function workers(parsed: ParsedOptions, name: string): number {
  const value = parsed[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new UsageError(`--${name} needs a whole number, 0 or more`);
}

/** The command line of the builder. */
export const COMMAND_LINE: CommandLine<BuilderArguments> = {
  name: 'nodepool-builder',
  does: 'Builds disk images, uploads them to providers, and removes what is no longer needed.',
  pidFile: '/var/run/nodepool/nodepool-builder.pid',
  options: {
    'build-workers': { type: 'number', default: 1, requiresArg: true, describe: 'images built at a time' },
    'drain-timeout': {
      ...{ type: 'number', default: undefined, requiresArg: true },
      describe: 'seconds a stop waits for builds; default: until build-timeout ends them',
    },
    'upload-workers': { type: 'number', default: 4, requiresArg: true, describe: 'images uploaded at a time' },
  },
  refused: { repl: 'there is no console; use /healthz, SIGUSR2 or node --inspect' },
  toArguments: (common, parsed) => ({
    ...common,
    buildWorkers: workers(parsed, 'build-workers'),
    uploadWorkers: workers(parsed, 'upload-workers'),
  }),
  toArgv: {
    ...COMMON_TO_ARGV,
    buildWorkers: ({ buildWorkers }) => ['--build-workers', String(buildWorkers)],
    uploadWorkers: ({ uploadWorkers }) => ['--upload-workers', String(uploadWorkers)],
  },
};
