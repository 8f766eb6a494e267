import type { Argv } from 'yargs';
import type { Command, OptionDefinition, Values } from './command/command.js';
import { flag, text } from './command/command.js';
import { GLOBAL_OPTIONS, globalOptions, READING_OPTIONS } from './command/global-options.js';
import type { GlobalOptions, LogOptions } from './command/global-options.js';
import { UsageError } from './command/usage-error.js';
import { COMMAND_GROUPS, COMMANDS } from './commands/index.js';
import { parseErrorText, emptyWordText, unknownCommandText } from './parse-errors.js';
import { findCommand } from './find-command.js';
import type { FoundCommand } from './find-command.js';

/** A parsed command line. */
export type CommandLine =
  | { kind: 'command'; command: Command; args: unknown; options: GlobalOptions; log: LogOptions }
  | { kind: 'print'; text: string; exitStatus: number };

/**
 * A parser for the one command that is called. All options are hidden from the help of yargs, which formats it in any case and
 * takes longer for it than for everything else.
 */
async function createParser({ argv, command }: FoundCommand): Promise<Argv> {
  const { default: yargs } = await import('yargs');
  const parser = yargs([...argv])
    .scriptName('nodepool')
    .parserConfiguration({ 'populate--': true, 'parse-positional-numbers': false })
    .options(hidden(GLOBAL_OPTIONS))
    .version(false)
    .option('version', { type: 'boolean' })
    .help(false)
    .strict()
    .exitProcess(false);
  if (!command) return parser;
  const { name, usage } = command;
  return parser.command(`${name} ${usage}`.trimEnd(), false, (own) => addOptions(own, command));
}

function addOptions(parser: Argv, { positionals = {}, options = {}, reads = false }: Command): Argv {
  for (const [name, positional] of Object.entries(positionals)) parser.positional(name, positional);
  return parser.options(hidden({ ...options, ...(reads ? READING_OPTIONS : {}) }));
}

function hidden(options: Readonly<Record<string, OptionDefinition>>): Record<string, OptionDefinition> {
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, { ...option, hidden: true }]));
}

function checkValues(command: Command, values: Values): void {
  const rest = (values['--'] as string[] | undefined) ?? [];
  if (rest.length > 0 && command.takesRest !== true) {
    throw new UsageError(`unexpected arguments after --: ${rest.join(' ')}`);
  }
  const empty = emptyWordText(command, values);
  if (empty !== undefined) throw new UsageError(empty);
}

/** Prints help without loading yargs, which would take most of the time. */
async function helpLine(command: Command | undefined, exitStatus: number): Promise<CommandLine> {
  const { commandText, helpWidth, overviewText } = await import('./help/help-text.js');
  const width = helpWidth(process.stdout.columns);
  return {
    kind: 'print',
    text: command ? commandText(command, width) : overviewText(COMMAND_GROUPS, width),
    exitStatus,
  };
}

/**
 * Parses the command line.
 * @param argv - without node and script
 * @throws UsageError
 */
export async function parseCommandLine(argv: readonly string[], version: string): Promise<CommandLine> {
  if (argv.length === 0) return helpLine(undefined, 1);
  const found = await findCommand(argv, COMMANDS);
  if (found.wantsHelp) return helpLine(found.command, 0);
  const parser = (await createParser(found)).fail((message: string | null, error: Error | undefined) => {
    if (error instanceof UsageError) throw error;
    throw new UsageError(parseErrorText(message ?? error?.message ?? 'cannot be understood', found, COMMANDS));
  });
  const values = (await parser.parseAsync([...found.argv], {}, () => undefined)) as Values;
  if (flag(values, 'version')) return { kind: 'print', text: `Nodepool version: ${version}`, exitStatus: 0 };
  const name = values._[0];
  if (name === undefined) return helpLine(undefined, 1);
  const log = { logConfigFile: text(values, 'l'), debug: flag(values, 'debug') };
  const { command } = found;
  if (command?.name !== name) throw new UsageError(unknownCommandText(String(name), COMMANDS));
  checkValues(command, values);
  return { kind: 'command', command, args: command.parse(values), options: globalOptions(values), log };
}
