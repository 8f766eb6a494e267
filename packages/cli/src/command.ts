import type { Options, PositionalOptions } from 'yargs';
import type { CliContext } from './context.js';

/** What yargs found on the command line, by the names of options and positionals. */
export type Values = Readonly<Record<string, unknown>> & { readonly _: readonly (string | number)[] };

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
  readonly options?: Readonly<Record<string, Options>>;
  /** Reads a listing: takes `--fields`, `--no-headers`, `--watch` and every `--format`. */
  readonly reads?: boolean;
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

/** The last value, should an option be given more than once. */
export function last(values: Values, name: string): unknown {
  const value = values[name];
  return Array.isArray(value) ? (value as unknown[]).at(-1) : value;
}

/** The text of an option or positional; `undefined` when it is missing. */
export function text(values: Values, name: string): string | undefined {
  return last(values, name) as string | undefined;
}

/** All texts of an option that may be repeated. */
export function texts(values: Values, name: string): readonly string[] {
  return (values[name] as string[] | undefined) ?? [];
}

/** Whether a switch is on. */
export function flag(values: Values, name: string): boolean {
  return last(values, name) === true;
}

/** For commands without arguments. */
export const NO_ARGUMENTS = {} as const;
