import { NodepoolError } from '@nodepool/zk-protocol';
import { UsageError } from './usage-error.js';

/** A command failed. Shown as one line; the exit status is 1. */
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

/** The text of an error in one line. */
export function describeError(error: unknown): string {
  if (error instanceof NodepoolError || error instanceof UsageError) return error.message;
  if (!(error instanceof Error)) return String(error);
  return error.name === 'Error' ? error.message : `${error.name}: ${error.message}`;
}
