import type { Argv } from 'yargs';
import { closestWord } from './closest.js';
import type { Command, Values } from './command/command.js';
import { flag, text } from './command/command.js';
import { GLOBAL_OPTIONS, globalOptions, READING_OPTIONS } from './command/global-options.js';
import type { GlobalOptions, LogOptions } from './command/global-options.js';
import { UsageError } from './command/usage-error.js';
import { COMMANDS } from './commands/index.js';
import { findCommand, optionsOf } from './find-command.js';

/** What the command line says. */
export type CommandLine =
  | { kind: 'command'; command: Command<unknown>; args: unknown; options: GlobalOptions; log: LogOptions }
  | { kind: 'print'; text: string; exitStatus: number };

async function createParser(argv: readonly string[]): Promise<Argv> {
  const { default: yargs } = await import('yargs');
  const parser = yargs([...argv])
    .scriptName('nodepool')
    .parserConfiguration({ 'populate--': true, 'parse-positional-numbers': false })
    .options(GLOBAL_OPTIONS)
    .version(false)
    .option('version', { type: 'boolean' })
    .help(false)
    .strict()
    .exitProcess(false);
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
  if (!command) throw new UsageError(unknownCommandText(name));
  const rest = (values['--'] as string[] | undefined) ?? [];
  if (rest.length > 0 && command.takesRest !== true) {
    throw new UsageError(`unexpected arguments after --: ${rest.join(' ')}`);
  }
  return command;
}

function unknownCommandText(name: string): string {
  const names = COMMANDS.map((each) => each.name);
  const meant = closestWord(name, names);
  return `unknown command ${name}${meant === undefined ? '' : `, did you mean ${meant}?`}`;
}

const UNKNOWN = /^Unknown (?:arguments?|commands?): (.*)$/;

/** What yargs complains of, and what has probably been meant. */
function complaintText(message: string, argv: readonly string[]): string {
  const words = UNKNOWN.exec(message)?.[1]?.split(', ') ?? [];
  const { command } = findCommand(argv, COMMANDS);
  const known = [...optionsOf(command).keys()].map((name) => (name.length === 1 ? `-${name}` : `--${name}`));
  const texts = [...new Set(words)].flatMap((word) => {
    const written = argv.find(
      (each) => each.startsWith('-') && each.replace(/^--?(?:no-)?|=.*$/g, '') === word.replace(/^no-/, ''),
    );
    if (written === undefined) return [];
    const option = written.replace(/=.*$/, '');
    const meant = closestWord(option, known);
    return [`unknown option ${option}${meant === undefined ? '' : `, did you mean ${meant}?`}`];
  });
  if (texts.length > 0) return texts.join('; ');
  const [first] = words;
  return command === undefined && first !== undefined ? unknownCommandText(first) : message;
}

/** Help does not need the parser, whose loading would take most of the time. */
async function helpLine(command: Command<unknown> | undefined, exitStatus: number): Promise<CommandLine> {
  const { commandText, helpWidth, overviewText } = await import('./help/help-text.js');
  const width = helpWidth(process.stdout.columns);
  return { kind: 'print', text: command ? commandText(command, width) : overviewText(COMMANDS, width), exitStatus };
}

/**
 * Understands the command line.
 * @param argv - without node and script
 * @throws UsageError
 */
export async function parseCommandLine(argv: readonly string[], version: string): Promise<CommandLine> {
  if (argv.length === 0) return helpLine(undefined, 1);
  const found = findCommand(argv, COMMANDS);
  if (found.wantsHelp) return helpLine(found.command, 0);
  const parser = (await createParser(argv)).fail((message: string | null, error: Error | undefined) => {
    if (error instanceof UsageError) throw error;
    throw new UsageError(complaintText(message ?? error?.message ?? 'cannot be understood', argv));
  });
  const values = (await parser.parseAsync([...argv], {}, () => undefined)) as Values;
  if (flag(values, 'version')) return { kind: 'print', text: `Nodepool version: ${version}`, exitStatus: 0 };
  const name = values._[0];
  if (name === undefined) return helpLine(undefined, 1);
  const log = { logConfigFile: text(values, 'l'), debug: flag(values, 'debug') };
  const command = commandOf(String(name), values);
  return { kind: 'command', command, args: command.parse(values), options: globalOptions(values), log };
}
