import type { Options } from 'yargs';

/** An option as yargs takes it, with the name of its value for the help, e.g. `FILE`; `FILE` and `DIR` are completed. */
export type OptionDefinition = Options & {
  readonly value?: string;
  /** Accepts an empty text; other options reject it, as an unset shell variable leaves one. */
  readonly mayBeEmpty?: boolean;
};

/** Parsed options and positionals, by name. */
export type Values = Readonly<Record<string, unknown>> & { readonly _: readonly (string | number)[] };

/** The last value of an option that may be repeated. */
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
