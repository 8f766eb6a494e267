import { isAbsolute, join, resolve } from 'node:path';
import yargs from 'yargs';
import { NodepoolError } from '@nodepool/zk-protocol';

/** What the command line says, paths made absolute. */
export interface LauncherArguments {
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
  /** How long a stop may wait for work under way. */
  readonly drainTimeoutMs: number;
  /** Also register where launchers older than the component registry look. */
  readonly announceLegacy: boolean;
}

/** What to do instead of running: print something and end. */
export interface PrintAndExit {
  readonly print: string;
}

/** The command line cannot be understood; the process ends with status 2. */
export class UsageError extends NodepoolError {
  constructor(message: string) {
    super('NODEPOOL_USAGE', message);
  }
}

const DEFAULT_CONFIG = '/etc/nodepool/nodepool.yaml';
const DEFAULT_PID_FILE = '/var/run/nodepool/nodepool.pid';
const DEFAULT_DRAIN_SECONDS = 60;

/** Options the original once had, and why they are refused. */
const REFUSED: Readonly<Record<string, string>> = {
  repl: 'there is no console; use /healthz, SIGUSR2 or node --inspect',
  launches: 'set max-servers: 0 on the pools that must not launch',
  deletes: 'deletions cannot be switched off',
};

/** Expands `~` and makes the path absolute, seen from the directory the program was started in. */
export function expandPath(path: string, home: string, cwd: string): string {
  if (path === '~') return home;
  if (path.startsWith('~/')) return join(home, path.slice(2));
  return isAbsolute(path) ? path : resolve(cwd, path);
}

function createParser(argv: readonly string[]) {
  return yargs([...argv])
    .scriptName('nodepool-launcher')
    .usage('$0 [options]\n\nServes node requests found in ZooKeeper.')
    .parserConfiguration({ 'duplicate-arguments-array': false })
    .options({
      c: { type: 'string', default: DEFAULT_CONFIG, requiresArg: true, describe: 'configuration file' },
      s: { type: 'string', requiresArg: true, describe: 'secure file: secrets kept apart from the configuration' },
      l: { type: 'string', requiresArg: true, describe: 'logging configuration (.yaml, .yml, .json or ini)' },
      d: { type: 'boolean', default: false, describe: 'stay in the foreground and log at debug level' },
      f: { type: 'boolean', default: false, describe: 'stay in the foreground' },
      p: { type: 'string', default: DEFAULT_PID_FILE, requiresArg: true, describe: 'pid file of the daemon' },
      webapp: { type: 'boolean', default: true, describe: 'HTTP server; --no-webapp leaves it out' },
      'state-dir': { type: 'string', requiresArg: true, describe: 'where state is kept, see README' },
      'drain-timeout': {
        type: 'number',
        default: DEFAULT_DRAIN_SECONDS,
        requiresArg: true,
        describe: 'seconds a stop waits for work under way',
      },
      'announce-legacy': {
        type: 'boolean',
        default: false,
        describe: 'also register below /nodepool/launchers, for Zuul and launchers older than the component registry',
      },
      repl: { type: 'boolean', hidden: true },
      launches: { type: 'boolean', hidden: true },
      deletes: { type: 'boolean', hidden: true },
    })
    .help('help')
    .alias('h', 'help')
    .version(false)
    .option('version', { type: 'boolean', describe: 'show the version' })
    .strict()
    .exitProcess(false)
    .wrap(100);
}

type Parsed = Awaited<ReturnType<typeof createParser>['argv']>;

function checkParsed(parsed: Parsed): void {
  for (const [name, reason] of Object.entries(REFUSED)) {
    if (parsed[name] !== undefined) {
      const option = name === 'repl' ? '--repl' : `--no-${name}`;
      throw new UsageError(`${option} is not supported: ${reason}`);
    }
  }
  const drainSeconds = parsed['drain-timeout'];
  if (!Number.isFinite(drainSeconds) || drainSeconds < 0)
    throw new UsageError('--drain-timeout needs a number of seconds');
}

function toArguments(parsed: Parsed, home: string, cwd: string): LauncherArguments {
  const expand = (path: string | undefined) => (path === undefined ? undefined : expandPath(path, home, cwd));
  return {
    configFile: expandPath(parsed.c, home, cwd),
    secureFile: expand(parsed.s),
    logConfigFile: expand(parsed.l),
    pidFile: expandPath(parsed.p, home, cwd),
    foreground: parsed.d || parsed.f,
    debug: parsed.d,
    webapp: parsed.webapp,
    stateDir: expand(parsed['state-dir']),
    announceLegacy: parsed['announce-legacy'],
    drainTimeoutMs: parsed['drain-timeout'] * 1000,
  };
}

/**
 * Understands the command line.
 * @param argv - without node and script
 * @throws UsageError
 */
export async function parseArguments(
  argv: readonly string[],
  surroundings: { home: string; cwd: string; version: string },
): Promise<LauncherArguments | PrintAndExit> {
  const parser = createParser(argv).fail((message: string | null, error: Error | undefined) => {
    throw new UsageError(message ?? error?.message ?? 'unknown option');
  });
  let printed = '';
  const parsed = await parser.parseAsync([...argv], {}, (_error, _argv, output) => {
    printed = output;
  });
  if (parsed['version']) return { print: `Nodepool version: ${surroundings.version}` };
  if (parsed['help'] || printed) return { print: printed };
  checkParsed(parsed);
  return toArguments(parsed, surroundings.home, surroundings.cwd);
}
