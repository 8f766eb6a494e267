import { NodepoolError } from '@nodepool/zk-protocol';
import { UsageError } from './usage-error.js';

/** A command could not do what it was asked; shown as one line, the process ends with status 1. */
export class CliError extends NodepoolError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('NODEPOOL_CLI', message, options);
  }
}

/** A command has no connection to ZooKeeper. */
export class NoConnectionError extends CliError {
  /**
   * @param reason - one of the condition `NotConnected`
   * @param finding - what was tried, on what, and why it failed
   */
  constructor(
    readonly reason: 'NoServer' | 'CannotWrite',
    readonly finding: string,
    readonly nextStep: string,
  ) {
    super(`${finding}${finding.endsWith('.') ? '' : ':'} ${nextStep}`);
  }
}

/** What an error says in one line. */
export function describeError(error: unknown): string {
  if (error instanceof NodepoolError || error instanceof UsageError) return error.message;
  if (!(error instanceof Error)) return String(error);
  return error.name === 'Error' ? error.message : `${error.name}: ${error.message}`;
}
