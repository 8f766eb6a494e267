import { systemClock } from '@nodepool/zk-protocol';
import type { Clock, Json } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import { listingToJson, listingToTable, toPythonJson } from '@nodepool/core/listing';
import type { Listing, TableSelection } from '@nodepool/core/listing';

/** Options every command takes. */
export interface GlobalOptions {
  readonly configFile: string;
  /** Whether the configuration file was named; the default one may be missing. */
  readonly configFileNamed: boolean;
  readonly secureFile: string | undefined;
  /** Where to look for an embedded server; default the usual places. */
  readonly stateDir: string | undefined;
  readonly format: 'table' | 'json';
  /** "Not found" ends with status 1. */
  readonly strict: boolean;
  readonly connectTimeoutMs: number;
}

/** What a command works with. */
export interface CliContext {
  readonly options: GlobalOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Writes a text and a line end to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a line for the person at the terminal, beside what a pipe would get. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Writes a JSON value in the form all listings use. */
export function printJson(value: Json): void {
  print(toPythonJson(value));
}

/** Writes rows in the format the options ask for. */
export function printListing<Row>(
  context: Pick<CliContext, 'options' | 'clock'>,
  listing: Listing<Row>,
  rows: readonly Row[],
  selection: TableSelection = {},
): void {
  const nowMs = context.clock.now();
  const asJson = context.options.format === 'json';
  print(asJson ? listingToJson(listing, rows, nowMs) : listingToTable(listing, rows, nowMs, selection));
}

/** The machine's clock, with timers that keep the process alive: a command that waits is not done. */
export const commandClock: Clock = {
  now: () => systemClock.now(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};
