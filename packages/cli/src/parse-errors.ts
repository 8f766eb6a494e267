import { closestWord } from './command/closest.js';
import type { Command, CommandEntry, Values } from './command/command.js';
import { shellWord } from '@nodepool/core/shell-word';
import { optionsOf } from './find-command.js';
import type { FoundCommand } from './find-command.js';
import { usageWords } from './help/option-rows.js';

type Commands = readonly CommandEntry[];

const UNKNOWN = /^Unknown (?:arguments?|commands?): (.*)$/;
const NO_CHOICE = /^Invalid values:\s+Argument: (\S+), Given: (.*), Choices: (.*)$/m;
const TOO_FEW = /^Not enough non-option arguments/;
const NO_VALUE = /^Not enough arguments following: (\S+)$/;
const MISSING = /^Missing required arguments?: (.*)$/;

/** Error text for an unknown command, with the name that was probably meant. */
export function unknownCommandText(name: string, commands: Commands): string {
  const names = commands.map((each) => each.name);
  const meant = closestWord(name, names);
  return `unknown command ${name}${meant === undefined ? '' : `, did you mean ${meant}?`}`;
}

/** Turns an error of yargs into one line that says what is expected. */
export function parseErrorText(message: string, { argv, command }: FoundCommand, commands: Commands): string {
  return (
    describeUnknown(message, argv, command, commands) ??
    describeChoice(message, command) ??
    describeMissing(message, command) ??
    message
  );
}

/**
 * Error text for an empty argument, as an unset shell variable leaves it.
 * @returns `undefined` if no argument is empty
 */
export function emptyWordText(command: Command, values: Values): string | undefined {
  const isEmpty = (name: string) => [values[name]].flat().includes('');
  if (Object.keys(command.positionals ?? {}).some(isEmpty))
    return `${command.name} needs ${usageWords(command.usage)}, got an empty argument: is a shell variable unset?`;
  for (const [name, { requiresArg, mayBeEmpty }] of optionsOf(command)) {
    if (requiresArg === true && mayBeEmpty !== true && isEmpty(name)) return `${dashed(name)} needs a value`;
  }
  return undefined;
}

const dashed = (name: string) => (name.length === 1 ? `-${name}` : `--${name}`);

function describeUnknown(
  message: string,
  argv: readonly string[],
  command: Command | undefined,
  commands: Commands,
): string | undefined {
  const words = [...new Set(UNKNOWN.exec(message)?.[1]?.split(', ') ?? [])];
  const separated = command?.takesRest === true && words.length > 0 ? separatedText(argv, command) : undefined;
  if (separated !== undefined) return separated;
  const known = [...optionsOf(command).keys()].map(dashed);
  const texts = words.flatMap((word) => {
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
  if (first === undefined) return undefined;
  return command ? `${command.name} takes no further argument, got "${first}"` : unknownCommandText(first, commands);
}

/**
 * Error text for a missing `--`: the command is assumed to begin after the first label.
 * @returns `undefined` if there is `--`, or nothing after the label
 */
function separatedText(argv: readonly string[], command: Command): string | undefined {
  if (argv.includes('--')) return undefined;
  const options = optionsOf(command);
  const plain: number[] = [];
  for (let index = argv.indexOf(command.name) + 1; index < argv.length && plain.length < 2; index++) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) plain.push(index);
    else if (options.get(word.replace(/^--?/, ''))?.requiresArg === true) index++;
  }
  const [, first] = plain;
  if (first === undefined) return undefined;
  const line = ['nodepool', ...argv.slice(0, first), '--', ...argv.slice(first)].map(shellWord).join(' ');
  return `write the command after --: ${line}`;
}

function describeChoice(message: string, command: Command | undefined): string | undefined {
  const [, name, given, choices] = NO_CHOICE.exec(message) ?? [];
  if (name === undefined) return undefined;
  const isPositional = name in (command?.positionals ?? {});
  return `${isPositional ? name : dashed(name)} must be one of ${choices?.replaceAll('"', '')}, got ${given}`;
}

function describeMissing(message: string, command: Command | undefined): string | undefined {
  const option = NO_VALUE.exec(message)?.[1];
  if (option !== undefined) return `${dashed(option)} needs a value`;
  const names = MISSING.exec(message)?.[1];
  if (names !== undefined) return `${command?.name} needs ${names.split(', ').map(dashed).join(', ')}`;
  return command && TOO_FEW.test(message) ? `${command.name} needs ${usageWords(command.usage)}` : undefined;
}
