import type { Command } from './command/command.js';
import { GENERAL_OPTIONS, READING_OPTIONS } from './command/global-options.js';
import type { OptionDefinition } from './command/command.js';

const takesValue = ({ type }: OptionDefinition) => type !== 'boolean';

/** Every option that a command takes, by its names; without a command, the general ones. */
export function optionsOf(command: Command<unknown> | undefined): ReadonlyMap<string, OptionDefinition> {
  const tables = [GENERAL_OPTIONS, command?.options ?? {}, command?.reads === true ? READING_OPTIONS : {}];
  const options = new Map<string, OptionDefinition>();
  for (const [name, option] of tables.flatMap((table) => Object.entries<OptionDefinition>(table))) {
    for (const each of [name, option.alias ?? []].flat()) options.set(each, option);
    if (option.type === 'boolean' && option.default === true) options.set(`no-${name}`, option);
  }
  return options;
}

/**
 * The command that a command line names, and whether it asks for help. Options before the command may have values.
 * @param argv - without node and script
 */
export function findCommand(
  argv: readonly string[],
  commands: readonly Command<unknown>[],
): { readonly command: Command<unknown> | undefined; readonly wantsHelp: boolean } {
  const end = argv.indexOf('--');
  const words = end < 0 ? argv : argv.slice(0, end);
  let command: Command<unknown> | undefined;
  let wantsHelp = false;
  let options = optionsOf(undefined);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    if (word === '--help' || word === '-h') wantsHelp = true;
    else if (word.startsWith('-')) {
      const option = options.get(word.replace(/^--?/, ''));
      if (option && takesValue(option) && option.requiresArg === true) index++;
    } else if (command === undefined) {
      command = commands.find(({ name }) => name === word);
      if (!command) return { command, wantsHelp };
      options = optionsOf(command);
    }
  }
  return { command, wantsHelp };
}
