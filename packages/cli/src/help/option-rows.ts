import type { OptionDefinition } from '../command/command.js';

/** An option as help, man page and completion show it. */
export interface OptionRow {
  /** `-q`, `--quiet`; those with one dash first. */
  readonly flags: readonly string[];
  /** Name of its value, e.g. `FILE`; `undefined` for a switch. */
  readonly value: string | undefined;
  readonly describe: string;
  /** `required`, or the default; `undefined` if there is none. */
  readonly note: string | undefined;
  readonly choices: readonly string[];
}

/** The options of a table, in its order. */
export function optionRows(options: Readonly<Record<string, OptionDefinition>>): OptionRow[] {
  return Object.entries(options).map(([name, option]) => ({
    flags: flagsOf(name, option),
    value: valueOf(option),
    describe: option.describe ?? '',
    note: noteOf(option),
    choices: (option.choices as readonly string[] | undefined) ?? [],
  }));
}

/** A switch that is on by default is shown as `--no-...`. */
function flagsOf(name: string, { alias, type, default: value }: OptionDefinition): string[] {
  const names = [...(typeof alias === 'string' ? [alias] : (alias ?? [])), name];
  const written = names.map((each) => (each.length === 1 ? `-${each}` : `--${each}`));
  if (type === 'boolean' && value === true) return [`--no-${name}`];
  return written.sort((a, b) => a.length - b.length);
}

function valueOf({ type, value, choices }: OptionDefinition): string | undefined {
  if (type === 'boolean') return undefined;
  if (value !== undefined) return value;
  if (choices !== undefined) return choices.join('|');
  return type === 'number' ? 'N' : 'TEXT';
}

function noteOf({ type, default: value, demandOption }: OptionDefinition): string | undefined {
  if (demandOption === true) return 'required';
  return type === 'boolean' || value === undefined ? undefined : `default ${String(value)}`;
}

/** `<id>` -> `ID`, `[request]` -> `[REQUEST]`, `<labels..>` -> `LABEL...`. */
export function usageWords(usage: string): string {
  return usage.replaceAll(/<([^>]+)>|\[([^\]]+)\]/g, (_match, needed?: string, optional?: string) =>
    needed === undefined ? `[${argumentName(optional ?? '')}]` : argumentName(needed),
  );
}

function argumentName(name: string): string {
  return name.endsWith('..') ? `${name.slice(0, -2).replace(/s$/, '').toUpperCase()}...` : name.toUpperCase();
}

/** The positional arguments of a command, with their meaning. */
export function argumentRows(
  usage: string,
  positionals: Readonly<Record<string, { describe?: string | undefined; choices?: unknown }>> = {},
): { name: string; describe: string; choices: readonly string[] }[] {
  return [...usage.matchAll(/[<[]([^>\]]+?)(\.\.)?[>\]]/g)].map(([, name = '', dots = '']) => ({
    name: argumentName(name + dots),
    describe: positionals[name]?.describe ?? '',
    choices: (positionals[name]?.choices as readonly string[] | undefined) ?? [],
  }));
}
