import type { Options } from 'yargs';

/** An option as yargs takes it, with the name of its value for the help, e.g. `FILE`; `FILE` and `DIR` are completed. */
export type OptionDefinition = Options & {
  readonly value?: string;
  /** An empty text says something; others are what an unset variable of a shell leaves. */
  readonly mayBeEmpty?: boolean;
};
