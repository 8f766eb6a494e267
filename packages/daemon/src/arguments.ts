import { isAbsolute, join, resolve } from 'node:path';
import yargs, { type Options } from 'yargs';
import { ambiguousOptionText, expandOption } from '@nodepool/core/service';
import { NodepoolError } from '@nodepool/zk-protocol';

/** Arguments common to all services, with absolute paths. */
export interface CommonArguments {
  readonly configFile: string;
  readonly secureFile: string | undefined;
  readonly logConfigFile: string | undefined;
  readonly pidFile: string;
  /** Stay attached to the terminal. */
  readonly foreground: boolean;
  /** Log at debug level. */
  readonly debug: boolean;
  readonly webapp: boolean;
  /** `undefined`: the default for this user. */
  readonly stateDir: string | undefined;
  /** Time limit of a stop for work in progress; `Infinity`: no limit. */
  readonly drainTimeoutMs: number;
}

/** The command line asks for a text, such as the help, instead of running. */
export interface PrintAndExit {
  readonly print: string;
}

/** Result of yargs, by option name. */
export type ParsedOptions = Readonly<Record<string, unknown>>;

/** The command line of one service. */
export interface CommandLine<Args extends CommonArguments> {
  /** Name of the program. */
  readonly name: string;
  /** Description in one sentence. */
  readonly does: string;
  /** Default pid file of a daemon. */
  readonly pidFile: string;
  /** Options in addition to the common ones. */
  readonly options: Readonly<Record<string, Options>>;
  /** Options of the original Nodepool that are not supported, with the alternative. */
  readonly refused: Readonly<Record<string, string>>;
  /** @throws UsageError for values that yargs takes and the service does not */
  toArguments(common: CommonArguments, parsed: ParsedOptions): Args;
  /** Converts each argument back to the command line; a missing one does not compile. */
  readonly toArgv: ArgumentsToArgv<Args>;
}

/** Functions that convert each argument to words of the command line. */
export type ArgumentsToArgv<Args> = { readonly [Name in keyof Args]-?: (args: Args) => readonly string[] };

/** Environment in which the program was started. */
export interface ParseContext {
  readonly home: string;
  readonly cwd: string;
  readonly version: string;
}

/** Thrown for an invalid command line; the process exits with status 2. */
export class UsageError extends NodepoolError {
  constructor(message: string) {
    super('NODEPOOL_USAGE', message);
  }
}

const DEFAULT_CONFIG = '/etc/nodepool/nodepool.yaml';
const DEFAULT_DRAIN_SECONDS = 60;

const commonOptions = (pidFile: string): Record<string, Options> => ({
  c: { type: 'string', default: DEFAULT_CONFIG, requiresArg: true, describe: 'configuration file' },
  s: { type: 'string', requiresArg: true, describe: 'secure file: secrets kept apart from the configuration' },
  l: { type: 'string', requiresArg: true, describe: 'logging configuration (.yaml, .yml, .json or ini)' },
  d: { type: 'boolean', default: false, describe: 'stay in the foreground and log at debug level' },
  f: { type: 'boolean', default: false, describe: 'stay in the foreground' },
  p: { type: 'string', default: pidFile, requiresArg: true, describe: 'pid file of the daemon' },
  webapp: { type: 'boolean', default: true, describe: 'HTTP server; --no-webapp disables it' },
  'state-dir': { type: 'string', requiresArg: true, describe: 'state directory, see README' },
  'drain-timeout': {
    type: 'number',
    default: DEFAULT_DRAIN_SECONDS,
    requiresArg: true,
    describe: 'time limit of a stop for work in progress, in seconds',
  },
});

/** Converts the common arguments back to the command line. */
export const COMMON_TO_ARGV: ArgumentsToArgv<CommonArguments> = {
  configFile: ({ configFile }) => ['-c', configFile],
  secureFile: ({ secureFile }) => (secureFile === undefined ? [] : ['-s', secureFile]),
  logConfigFile: ({ logConfigFile }) => (logConfigFile === undefined ? [] : ['-l', logConfigFile]),
  pidFile: ({ pidFile }) => ['-p', pidFile],
  foreground: ({ foreground, debug }) => (foreground && !debug ? ['-f'] : []),
  debug: ({ debug }) => (debug ? ['-d'] : []),
  webapp: ({ webapp }) => (webapp ? [] : ['--no-webapp']),
  stateDir: ({ stateDir }) => (stateDir === undefined ? [] : ['--state-dir', stateDir]),
  drainTimeoutMs: ({ drainTimeoutMs: ms }) => (ms === Infinity ? [] : ['--drain-timeout', String(ms / 1000)]),
};

/** Expands `~` and makes the path absolute. */
export function expandPath(path: string, home: string, cwd: string): string {
  if (path === '~') return home;
  if (path.startsWith('~/')) return join(home, path.slice(2));
  return isAbsolute(path) ? path : resolve(cwd, path);
}

/** All supported options of a service, in the order of its help. */
export function serviceOptions<Args extends CommonArguments>(line: CommandLine<Args>): Record<string, Options> {
  return {
    ...commonOptions(line.pidFile),
    ...line.options,
    help: { type: 'boolean', alias: 'h', describe: 'show help' },
    version: { type: 'boolean', describe: 'show the version' },
  };
}

function createParser<Args extends CommonArguments>(line: CommandLine<Args>, argv: readonly string[]) {
  return yargs([...argv])
    .scriptName(line.name)
    .usage(`$0 [options]\n\n${line.does}`)
    .parserConfiguration({ 'duplicate-arguments-array': false })
    .options({ ...commonOptions(line.pidFile), ...line.options })
    .help('help')
    .alias('h', 'help')
    .version(false)
    .option('version', { type: 'boolean', describe: 'show the version' })
    .strict()
    .exitProcess(false)
    .wrap(Math.min(100, process.stdout.columns || 80));
}

/** Completes abbreviated long options. @throws UsageError for an ambiguous one */
function expandOptions<Args extends CommonArguments>(line: CommandLine<Args>, argv: readonly string[]): string[] {
  const options = serviceOptions(line);
  const negated = Object.keys(options).filter((name) => options[name]?.default === true);
  const known = [...Object.keys(options), ...negated.map((name) => `no-${name}`)];
  return argv.map((word) => {
    const expanded = expandOption(word, [known]);
    if ('ambiguous' in expanded) throw new UsageError(ambiguousOptionText(word, expanded.ambiguous));
    return expanded.word;
  });
}

/** @throws UsageError for an option of the original, or of an earlier version, that there is not */
function checkRefused(refused: Readonly<Record<string, string>>, words: readonly string[]): void {
  for (const word of words) {
    const [option, name = ''] = /^--(?:no-)?([^=]+)/.exec(word) ?? [];
    const reason = refused[name];
    if (reason !== undefined) throw new UsageError(`${option} is not supported: ${reason}`);
  }
}

function toCommonArguments(parsed: ParsedOptions, { home, cwd }: ParseContext): CommonArguments {
  const expand = (name: string) => {
    const path = parsed[name];
    // an empty value is likely an unset variable; it must not select the current directory
    if (path === '') throw new UsageError(`${name.length === 1 ? '-' : '--'}${name} needs a value`);
    return typeof path === 'string' ? expandPath(path, home, cwd) : undefined;
  };
  const drainSeconds = parsed['drain-timeout'] ?? Infinity;
  if (typeof drainSeconds !== 'number' || Number.isNaN(drainSeconds) || drainSeconds < 0)
    throw new UsageError('--drain-timeout needs a number of seconds');
  return {
    configFile: expand('c') ?? DEFAULT_CONFIG,
    secureFile: expand('s'),
    logConfigFile: expand('l'),
    pidFile: expand('p') ?? '',
    foreground: parsed['d'] === true || parsed['f'] === true,
    debug: parsed['d'] === true,
    webapp: parsed['webapp'] !== false,
    stateDir: expand('state-dir'),
    drainTimeoutMs: drainSeconds * 1000,
  };
}

/**
 * Parses the command line of a service.
 * @param words - without node and script
 * @throws UsageError
 */
export async function parseCommandLine<Args extends CommonArguments>(
  line: CommandLine<Args>,
  words: readonly string[],
  context: ParseContext,
): Promise<Args | PrintAndExit> {
  checkRefused(line.refused, words);
  const argv = expandOptions(line, words);
  const parser = createParser(line, argv).fail((message: string | null, error: Error | undefined) => {
    throw new UsageError(message ?? error?.message ?? 'unknown option');
  });
  let printed = '';
  const parsed: ParsedOptions = await parser.parseAsync([...argv], {}, (_error, _argv, output) => {
    printed = output;
  });
  if (parsed['version'] === true) return { print: `Nodepool version: ${context.version}` };
  if (parsed['help'] === true || printed !== '') return { print: printed };
  return line.toArguments(toCommonArguments(parsed, context), parsed);
}
