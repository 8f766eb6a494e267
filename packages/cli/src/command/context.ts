import { escapeForTerminal } from '@nodepool/zk-protocol/visible-text';
import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { GlobalOptions } from './global-options.js';

export type { GlobalOptions } from './global-options.js';

/** Context of a running command. */
export interface CliContext {
  readonly options: GlobalOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Connection shared by repeated runs of a command; missing: the command opens its own. */
  readonly kept?: { zk: ZooKeeper | undefined };
}

/** Escapes untrusted text for standard output, so that it cannot control a terminal, even at the end of a pipe. */
export function forOutput(text: string): string {
  return escapeForTerminal(text);
}

/** Writes a line to standard output. @param prefix - trusted text, such as a coloured word, that is not escaped */
export function print(text: string, prefix = ''): void {
  process.stdout.write(`${prefix}${forOutput(text)}\n`);
}

/** Writes a line to standard error, for the user. */
export function inform(text: string): void {
  process.stderr.write(`${escapeForTerminal(text)}\n`);
}
