import { CoreError } from '../contract/errors.js';

/**
 * Why a login, or what it was for, failed:
 * - `key-file` the launcher's private key cannot be used
 * - `no-answer` the host does not answer, or the connection broke
 * - `host-key` the host does not have a key that is recorded for it
 * - `refused` the host refuses the launcher's key
 * - `not-done` logged in, but the change was not made
 */
export type SshLoginFailure = 'key-file' | 'no-answer' | 'host-key' | 'refused' | 'not-done';

/** The launcher could not log in to a host, or could not do there what it logged in for. */
export class SshLoginError extends CoreError {
  readonly failure: SshLoginFailure;
  /** The change had been sent, and its result is not known: it may have been made, or be made soon. */
  readonly mayTakeEffect: boolean;

  constructor(failure: SshLoginFailure, message: string, options: { cause?: unknown; mayTakeEffect?: boolean } = {}) {
    super('NODEPOOL_SSH', message, options);
    this.failure = failure;
    this.mayTakeEffect = options.mayTakeEffect ?? false;
  }
}
