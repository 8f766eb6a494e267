import {
  COMMON_TO_ARGV,
  parseCommandLine,
  type CommandLine,
  type CommonArguments,
  type ParseContext,
  type PrintAndExit,
} from '@nodepool/daemon';

/** Parsed command line with absolute paths. */
export interface LauncherArguments extends CommonArguments {
  /** Also register at the path that launchers older than the component registry read. */
  readonly announceLegacy: boolean;
}

/** The command line of the launcher. */
export const COMMAND_LINE: CommandLine<LauncherArguments> = {
  name: 'nodepool-launcher',
  does: 'Serves node requests found in ZooKeeper.',
  pidFile: '/var/run/nodepool/nodepool.pid',
  options: {
    'announce-legacy': {
      type: 'boolean',
      default: false,
      describe: 'also register below /nodepool/launchers, for Zuul and launchers older than the component registry',
    },
  },
  refused: {
    repl: 'there is no console; use /healthz, SIGUSR2 or node --inspect',
    launches: 'set max-servers: 0 on the pools that must not launch',
    deletes: 'deletions cannot be switched off',
    'take-over': 'end the running launcher by the signal QUIT, and start this one: launches continue',
  },
  toArguments: (common, parsed) => ({
    ...common,
    announceLegacy: parsed['announce-legacy'] === true,
  }),
  toArgv: {
    ...COMMON_TO_ARGV,
    announceLegacy: ({ announceLegacy }) => (announceLegacy ? ['--announce-legacy'] : []),
  },
};

/**
 * Parses the command line.
 * @param argv - without node and script
 * @throws UsageError
 */
export function parseArguments(
  argv: readonly string[],
  context: ParseContext,
): Promise<LauncherArguments | PrintAndExit> {
  return parseCommandLine(COMMAND_LINE, argv, context);
}
