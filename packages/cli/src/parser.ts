import yargs from 'yargs';
import type { Argv } from 'yargs';
import type { Command, Values } from './command/command.js';
import { flag, text } from './command/command.js';
import { COMMANDS } from './commands/index.js';
import { GLOBAL_OPTIONS, globalOptions, READING_OPTIONS } from './command/global-options.js';
import type { GlobalOptions, LogOptions } from './command/global-options.js';
import { UsageError } from './command/usage-error.js';

/** What the command line says. */
export type CommandLine =
  | { kind: 'command'; command: Command<unknown>; args: unknown; options: GlobalOptions; log: LogOptions }
  | { kind: 'print'; text: string; exitStatus: number };

const WIDTH = 100;

function createParser(argv: readonly string[]): Argv {
  const parser = yargs([...argv])
    .scriptName('nodepool')
    .usage('$0 COMMAND [options]')
    .parserConfiguration({ 'populate--': true, 'parse-positional-numbers': false })
    .options(GLOBAL_OPTIONS)
    .version(false)
    .option('version', { type: 'boolean', describe: 'show the version' })
    .help('help')
    .alias('h', 'help')
    .strict()
    .recommendCommands()
    .exitProcess(false)
    .wrap(WIDTH);
  for (const command of COMMANDS) {
    const { name, usage, summary } = command;
    parser.command(usage === undefined ? name : `${name} ${usage}`, summary, (own) => addOptions(own, command));
  }
  return parser;
}

function addOptions(parser: Argv, { positionals = {}, options = {}, reads = false }: Command<unknown>): Argv {
  for (const [name, positional] of Object.entries(positionals)) parser.positional(name, positional);
  return parser.options({ ...options, ...(reads ? READING_OPTIONS : {}) });
}

function commandOf(name: string, values: Values): Command<unknown> {
  const command = COMMANDS.find((each) => each.name === name);
  if (!command) throw new UsageError(`unknown command ${name}`);
  const rest = (values['--'] as string[] | undefined) ?? [];
  if (rest.length > 0 && command.takesRest !== true) {
    throw new UsageError(`unexpected arguments after --: ${rest.join(' ')}`);
  }
  return command;
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
  if (flag(values, 'version')) return { kind: 'print', text: `Nodepool version: ${version}`, exitStatus: 0 };
  if (printed) return { kind: 'print', text: printed, exitStatus: 0 };
  const name = values._[0];
  if (name === undefined) return { kind: 'print', text: await parser.getHelp(), exitStatus: 1 };
  const log = { logConfigFile: text(values, 'l'), debug: flag(values, 'debug') };
  const command = commandOf(String(name), values);
  return { kind: 'command', command, args: command.parse(values), options: globalOptions(values), log };
}
