import type { PositionalOptions } from 'yargs';
import type { CliContext } from './context.js';
import type { OptionDefinition, Values } from './values.js';

export { flag, last, text, texts } from './values.js';
export type { OptionDefinition } from './values.js';
export type { Values } from './values.js';

/** How the help overview shows a command. */
interface CommandSummary {
  readonly name: string;
  /** Positionals in yargs' notation, e.g. `<id>` or `[request]`; empty when there are none. */
  readonly usage: string;
  /** One line for the help, without a capital and a full stop. */
  readonly summary: string;
}

/** What a file of `commands/` exports as `command`: the options, and what the command does. */
export interface CommandModule<Args> {
  readonly positionals?: Readonly<Record<string, PositionalOptions>>;
  readonly options?: Readonly<Record<string, OptionDefinition>>;
  /** Reads a listing: takes `--fields`, `--no-headers`, `--watch` and every `--format`. */
  readonly reads?: boolean;
  /** Its arguments are labels, which completion lists. */
  readonly takesLabels?: boolean;
  /** Takes a command line of its own after `--`. */
  readonly takesRest?: boolean;
  /** @throws UsageError */
  parse(values: Values): Args;
  /** @returns the exit status; `undefined` means 0 */
  run(context: CliContext, args: Args): Promise<number | void>;
}

/** Gives the module of a command its type. */
export function defineCommand<Args>(command: CommandModule<Args>): CommandModule<Args> {
  return command;
}

/** A command of `nodepool`. Help, man page and completion are generated from it. */
export type Command = CommandSummary & CommandModule<unknown>;

/** A command that is not loaded yet. */
export interface CommandEntry extends CommandSummary {
  load(): Promise<Command>;
}

/** For commands without arguments. */
export const NO_ARGUMENTS = {} as const;

/** Commands for one purpose, as the help shows them. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly CommandEntry[];
}
