import type { Clock, JsonObject } from '@nodepool/zk-protocol';

/** How `nodepool init --cloud` makes a provider: it asks the questions in order, then writes the entry. */
export interface DriverSetup {
  readonly questions: readonly SetupQuestion[];
  /** Answers that are accepted with `--set` and not asked for, such as an endpoint. */
  readonly options?: readonly string[];
  /** The provider entry with one pool and one label. The command adds `name`, `driver` and `max-servers`. */
  getEntry(answers: Readonly<Record<string, string>>, label: string): JsonObject;
}

/** One question about the cloud. */
export interface SetupQuestion {
  /** Also the name for `--set KEY=VALUE`. */
  readonly key: string;
  /** What is chosen, as a noun: `image`. */
  readonly subject: string;
  /** May stay without an answer. Default: false. */
  readonly optional?: boolean;
  /** Any text is an answer, and the first choice is the default. Default: one of the choices. */
  readonly open?: boolean;
  /** What there is, as credentials or the cloud tell. @throws NodepoolError that says what is missing and where it was looked for */
  choices(context: SetupContext): Promise<readonly SetupChoice[]> | readonly SetupChoice[];
}

/** One of the answers there are. */
export interface SetupChoice {
  readonly value: string;
  /** What a person needs to choose, beside the value, such as the size of a flavor. */
  readonly note?: string | undefined;
}

/** What a question may use to find its choices. */
export interface SetupContext {
  /** Answers to the questions before, by key; an optional question may have none. */
  readonly answers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
