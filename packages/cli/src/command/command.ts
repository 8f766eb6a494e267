import type { PositionalOptions } from 'yargs';
import type { CliContext } from './context.js';
import type { OptionDefinition } from './option.js';
import type { Values } from './values.js';

export { flag, last, text, texts } from './values.js';
export type { OptionDefinition } from './option.js';
export type { Values } from './values.js';

/**
 * A command of `nodepool`: one file in `commands/` each, listed in `commands/index.ts`. Help, man pages and completion are
 * made from it. What it does is imported by `run`, so that `--help` need not load it.
 */
export interface Command<Args> {
  readonly name: string;
  /** Positionals in yargs' notation, e.g. `<id>` or `[request]`. */
  readonly usage?: string;
  /** One line for the help, without a capital and a full stop. */
  readonly summary: string;
  readonly positionals?: Readonly<Record<string, PositionalOptions>>;
  readonly options?: Readonly<Record<string, OptionDefinition>>;
  /** Reads a listing: takes `--fields`, `--no-headers`, `--watch` and every `--format`. */
  readonly reads?: boolean;
  /** Its arguments are labels, which completion asks the launchers for. */
  readonly takesLabels?: boolean;
  /** Takes a command line of its own after `--`. */
  readonly takesRest?: boolean;
  /** @throws UsageError */
  parse(values: Values): Args;
  /** @returns the exit status; nothing stands for 0 */
  run(context: CliContext, args: Args): Promise<number | void>;
}

/** Gives a command its type. */
export function defineCommand<Args>(command: Command<Args>): Command<Args> {
  return command;
}

/** For commands without arguments. */
export const NO_ARGUMENTS = {} as const;

/** Commands for one purpose, as the help shows them. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command<unknown>[];
}
