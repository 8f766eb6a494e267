import yargs from 'yargs';
import type { ExplainSubject } from '@nodepool/core';
import { parseDuration } from './duration.js';
import { UsageError } from './errors.js';
import type { GlobalOptions } from './context.js';

/** How the command line wants things logged. */
export interface LogOptions {
  readonly logConfigFile: string | undefined;
  readonly debug: boolean;
}

/** Options shared by `request` and `run`. */
export interface AcquireArguments {
  readonly labels: readonly string[];
  readonly provider: string | undefined;
  readonly priority: number;
  readonly timeoutMs: number | undefined;
  readonly quiet: boolean;
}

/** Arguments of `explain`. */
export interface ExplainArguments {
  readonly subject: ExplainSubject;
  /** Web servers to ask instead of those the registry names. */
  readonly urls: readonly string[];
}

/** A command with its arguments. */
export type Command =
  | { name: 'list' | 'request-list'; detail: boolean }
  | { name: 'delete' | 'hold'; id: string }
  | { name: 'info'; provider: string }
  | { name: 'config-validate' | 'drivers' }
  | ({ name: 'explain' } & ExplainArguments)
  | { name: 'plan'; currentFile: string | undefined }
  | ({ name: 'request'; holdForMs: number | undefined } & AcquireArguments)
  | ({ name: 'run'; command: readonly string[] } & AcquireArguments);

/** What the command line says. */
export type CommandLine =
  | { kind: 'command'; command: Command; options: GlobalOptions; log: LogOptions }
  | { kind: 'print'; text: string; exitStatus: number };

const DEFAULT_CONFIG = '/etc/nodepool/nodepool.yaml';
const DEFAULT_CONNECT_TIMEOUT = '10s';
/** Without `--wait` a request gets just enough time for ready nodes to be handed out. */
const NO_WAIT_MS = 5000;
const PRIORITIES = { high: 100, normal: 200, low: 300 } as const;

const detail = { type: 'boolean', default: false, describe: 'show more columns' } as const;

const acquireOptions = {
  count: { type: 'number', default: 1, requiresArg: true, describe: 'how many of each label' },
  provider: { type: 'string', requiresArg: true, describe: 'preferred provider' },
  priority: { choices: ['high', 'normal', 'low'], default: 'normal', describe: 'place in the queue' },
  wait: { type: 'boolean', default: true, describe: 'wait for nodes; --no-wait gives up when none are ready' },
  timeout: { type: 'string', requiresArg: true, describe: 'give up after this time, e.g. 90s, 10m, 1h30m' },
  quiet: { type: 'boolean', alias: 'q', default: false, describe: 'say nothing while waiting' },
} as const;

function withCommonOptions(argv: readonly string[]) {
  return yargs([...argv])
    .scriptName('nodepool')
    .usage('$0 COMMAND [options]')
    .parserConfiguration({ 'populate--': true, 'parse-positional-numbers': false })
    .options({
      c: { type: 'string', requiresArg: true, describe: `configuration file [${DEFAULT_CONFIG}]` },
      s: { type: 'string', requiresArg: true, describe: 'secure file' },
      l: { type: 'string', requiresArg: true, describe: 'logging configuration' },
      debug: { type: 'boolean', default: false, describe: 'log everything, and show where errors come from' },
      format: { choices: ['table', 'json'] as const, default: 'table' as const, describe: 'form of the output' },
      json: { type: 'boolean', default: false, describe: 'same as --format json' },
      strict: { type: 'boolean', default: false, describe: '"not found" ends with status 1' },
      'state-dir': {
        type: 'string',
        requiresArg: true,
        describe: "state directory of the launcher's embedded ZooKeeper",
      },
      'connect-timeout': {
        type: 'string',
        default: DEFAULT_CONNECT_TIMEOUT,
        requiresArg: true,
        describe: 'how long ZooKeeper may take to answer',
      },
    })
    .version(false)
    .option('version', { type: 'boolean', describe: 'show the version' })
    .help('help')
    .alias('h', 'help')
    .strict()
    .exitProcess(false)
    .wrap(100);
}

function createParser(argv: readonly string[]) {
  const id = { type: 'string', demandOption: true, describe: 'id of the node' } as const;
  const labels = { type: 'string', array: true, demandOption: true, describe: 'labels, one node each' } as const;
  return withCommonOptions(argv)
    .command('list', 'list nodes', (parser) => parser.option('detail', detail))
    .command('delete <id>', 'delete a node', (parser) => parser.positional('id', id))
    .command('hold <id>', 'keep a node for a person', (parser) => parser.positional('id', id))
    .command('config-validate', 'check the configuration')
    .command('request-list', 'list node requests', (parser) => parser.option('detail', detail))
    .command('info <provider>', 'show what ZooKeeper holds about a provider', (parser) =>
      parser.positional('provider', { type: 'string', demandOption: true, describe: 'name of the provider' }),
    )
    .command('explain [request]', 'say why a request waits, or what would become of labels', (parser) =>
      parser
        .positional('request', { type: 'string', describe: 'id of the request' })
        .option('label', {
          type: 'string',
          array: true,
          requiresArg: true,
          describe: 'a label nobody has asked for yet',
        })
        .option('url', { type: 'string', array: true, requiresArg: true, describe: "a launcher's web server" }),
    )
    .command('plan', 'say what the configuration named by -c would change, without doing it', (parser) =>
      parser.option('current', {
        type: 'string',
        requiresArg: true,
        describe: `configuration in force [${DEFAULT_CONFIG}]`,
      }),
    )
    .command('drivers', 'list installed drivers')
    .command('request <labels..>', 'take nodes and keep them until Ctrl-C', (parser) =>
      parser
        .positional('labels', labels)
        .options(acquireOptions)
        .option('hold-for', { type: 'string', requiresArg: true, describe: 'return the nodes after this time' }),
    )
    .command('run <labels..>', 'run a command with nodes: nodepool run LABEL... -- COMMAND ARGS', (parser) =>
      parser.positional('labels', labels).options(acquireOptions),
    );
}

type Values = Record<string, unknown> & { _: (string | number)[] };

/** The last value, should an option be given more than once. */
function last(values: Values, name: string): unknown {
  const value = values[name];
  return Array.isArray(value) ? (value as unknown[]).at(-1) : value;
}

const text = (values: Values, name: string) => last(values, name) as string | undefined;

function acquireArguments(values: Values): AcquireArguments {
  const count = last(values, 'count') as number;
  if (!Number.isInteger(count) || count < 1) throw new UsageError('--count needs a whole number above 0');
  const labels = values['labels'] as string[];
  const timeout = text(values, 'timeout');
  const waitMs = values['wait'] === false ? NO_WAIT_MS : undefined;
  return {
    labels: Array.from({ length: count }, () => labels).flat(),
    provider: text(values, 'provider'),
    priority: PRIORITIES[last(values, 'priority') as keyof typeof PRIORITIES],
    timeoutMs: timeout === undefined ? waitMs : parseDuration(timeout, '--timeout'),
    quiet: values['quiet'] === true,
  };
}

function explainArguments(values: Values): ExplainArguments {
  const requestId = text(values, 'request');
  const labels = (values['label'] as string[] | undefined) ?? [];
  const urls = (values['url'] as string[] | undefined) ?? [];
  for (const url of urls) {
    if (!URL.canParse(url) || !/^https?:/.test(url)) throw new UsageError(`--url needs a form like http://nl01:8005`);
  }
  if (requestId !== undefined && labels.length === 0) return { subject: { requestId }, urls };
  if (requestId === undefined && labels.length > 0) return { subject: { labels }, urls };
  throw new UsageError('explain needs either the id of a request or --label, once for each node');
}

function toCommand(name: string, values: Values): Command {
  const rest = (values['--'] as string[] | undefined) ?? [];
  if (rest.length > 0 && name !== 'run') throw new UsageError(`unexpected arguments after --: ${rest.join(' ')}`);
  switch (name) {
    case 'list':
    case 'request-list':
      return { name, detail: values['detail'] === true };
    case 'delete':
    case 'hold':
      return { name, id: text(values, 'id') ?? '' };
    case 'info':
      return { name, provider: text(values, 'provider') ?? '' };
    case 'explain':
      return { name, ...explainArguments(values) };
    case 'plan':
      if (text(values, 'c') === undefined)
        throw new UsageError('plan needs the new configuration: nodepool plan -c FILE');
      return { name, currentFile: text(values, 'current') };
    case 'request': {
      const holdFor = text(values, 'hold-for');
      const holdForMs = holdFor === undefined ? undefined : parseDuration(holdFor, '--hold-for');
      return { name, holdForMs, ...acquireArguments(values) };
    }
    case 'run':
      if (rest.length === 0) throw new UsageError('run needs a command: nodepool run LABEL... -- COMMAND ARGS');
      return { name, command: rest, ...acquireArguments(values) };
    case 'config-validate':
    case 'drivers':
      return { name };
    default:
      throw new UsageError(`unknown command ${name}`);
  }
}

function globalOptions(values: Values): GlobalOptions {
  const configFile = text(values, 'c');
  return {
    configFile: configFile ?? DEFAULT_CONFIG,
    configFileNamed: configFile !== undefined,
    secureFile: text(values, 's'),
    stateDir: text(values, 'state-dir'),
    format: values['json'] === true ? 'json' : (last(values, 'format') as 'table' | 'json'),
    strict: values['strict'] === true,
    connectTimeoutMs: parseDuration(text(values, 'connect-timeout') ?? DEFAULT_CONNECT_TIMEOUT, '--connect-timeout'),
  };
}

/**
 * Understands the command line.
 * @param argv - without node and script
 * @throws UsageError
 */
export async function parseCommandLine(argv: readonly string[], version: string): Promise<CommandLine> {
  const parser = createParser(argv).fail((message: string | null, error: Error | undefined) => {
    throw error instanceof UsageError ? error : new UsageError(message ?? error?.message ?? 'cannot be understood');
  });
  let printed = '';
  const values = (await parser.parseAsync([...argv], {}, (_error, _argv, output) => {
    printed = output;
  })) as Values;
  if (values['version'] === true) return { kind: 'print', text: `Nodepool version: ${version}`, exitStatus: 0 };
  if (printed) return { kind: 'print', text: printed, exitStatus: 0 };
  const name = values._[0];
  if (name === undefined) return { kind: 'print', text: await parser.getHelp(), exitStatus: 1 };
  const log = { logConfigFile: text(values, 'l'), debug: values['debug'] === true };
  return { kind: 'command', command: toCommand(String(name), values), options: globalOptions(values), log };
}
