import type { Command, CommandEntry, OptionDefinition } from './command/command.js';
import { GENERAL_OPTIONS, READING_OPTIONS } from './command/global-options.js';
import { UsageError } from './command/usage-error.js';
import { removedCommandText } from './removed-commands.js';

const takesValue = ({ type }: OptionDefinition) => type !== 'boolean';

type OptionTable = Readonly<Record<string, OptionDefinition>>;

function namesOf(table: OptionTable): [string, OptionDefinition][] {
  return Object.entries(table).flatMap(([name, option]) => {
    const names = [name, option.alias ?? []].flat();
    if (option.type === 'boolean' && option.default === true) names.push(`no-${name}`);
    return names.map((each): [string, OptionDefinition] => [each, option]);
  });
}

/** Every option that a command takes, by its names; without a command, the general ones. */
export function optionsOf(command: Command | undefined): ReadonlyMap<string, OptionDefinition> {
  const tables: OptionTable[] = [
    GENERAL_OPTIONS,
    command?.options ?? {},
    command?.reads === true ? READING_OPTIONS : {},
  ];
  return new Map(tables.flatMap(namesOf));
}

/**
 * Expands an abbreviated option. Loads the code for that only when needed, as most command lines have none.
 * @throws UsageError the abbreviation is ambiguous
 */
async function expand(word: string, command: Command | undefined): Promise<string> {
  const known = optionsOf(command);
  if (!word.startsWith('--') || known.has(word.slice(2))) return word;
  const { ambiguousOptionText, expandOption } = await import('@nodepool/core/service');
  const own = namesOf(command?.options ?? {}).map(([name]) => name);
  const expanded = expandOption(word, [own, known.keys()]);
  if ('ambiguous' in expanded) throw new UsageError(ambiguousOptionText(word, expanded.ambiguous));
  return expanded.word;
}

/** The command that a command line names, and its expanded options. */
export interface FoundCommand {
  readonly command: Command | undefined;
  readonly wantsHelp: boolean;
  /** The command line with abbreviated options written out. */
  readonly argv: readonly string[];
}

/**
 * The command that a command line names, and whether it asks for help. Options before the command may have values.
 * Of options with the same prefix, those of the command win over general ones.
 * @param argv - without node and script
 * @throws UsageError an abbreviation is ambiguous, or the command was removed
 */
export async function findCommand(argv: readonly string[], commands: readonly CommandEntry[]): Promise<FoundCommand> {
  const end = argv.indexOf('--');
  const words = end < 0 ? [...argv] : argv.slice(0, end);
  let command: Command | undefined;
  let wantsHelp = false;
  for (let index = 0; index < words.length; index++) {
    const word = await expand(words[index] ?? '', command);
    words[index] = word;
    if (word === '--help' || word === '-h') wantsHelp = true;
    else if (word.startsWith('-')) {
      const option = optionsOf(command).get(word.replace(/^--?/, ''));
      if (option && takesValue(option) && option.requiresArg === true) index++;
    } else if (command === undefined) {
      command = await commands.find(({ name }) => name === word)?.load();
      const removed = removedCommandText(word);
      if (removed !== undefined) throw new UsageError(removed);
      if (!command) break;
    }
  }
  return { command, wantsHelp, argv: end < 0 ? words : [...words, ...argv.slice(end)] };
}
