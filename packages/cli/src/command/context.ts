import { escapeForTerminal } from '@nodepool/zk-protocol/visible-text';
import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { GlobalOptions } from './global-options.js';

export type { GlobalOptions } from './global-options.js';

/** What a command works with. */
export interface CliContext {
  readonly options: GlobalOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A connection that is kept from one look to the next; missing: each command makes its own. */
  readonly kept?: { zk: ZooKeeper | undefined };
}

/** A text that may have been written by others, for standard output: it cannot drive a terminal. A pipe gets it as it is. */
export function forOutput(text: string): string {
  return process.stdout.isTTY ? escapeForTerminal(text) : text;
}

/** Writes a text and a line end to standard output. @param prefix - of our own, such as a word in a colour, written as it is */
export function print(text: string, prefix = ''): void {
  process.stdout.write(`${prefix}${forOutput(text)}\n`);
}

/** Writes a line for the person at the terminal, beside what a pipe would get. */
export function tell(text: string): void {
  process.stderr.write(`${escapeForTerminal(text)}\n`);
}

/** The machine's clock, with timers that keep the process alive: a command that waits is not done. */
export const commandClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
};
