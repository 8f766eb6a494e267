import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CliError, describeError } from './errors.js';

/** It takes milliseconds, unless it waits for something. */
const TIMEOUT_MS = 10_000;

/**
 * Runs `ssh-keygen` without input: so it asks nothing and overwrites nothing. It makes private keys for their owner alone.
 * @param failure - what could not be done, for the error
 * @throws CliError whose cause has the code `ENOENT` if there is no such program; the signal's reason
 */
export async function sshKeygen(failure: string, words: readonly string[], signal?: AbortSignal): Promise<void> {
  try {
    const made = promisify(execFile)('ssh-keygen', words, { timeout: TIMEOUT_MS, signal });
    made.child.stdin?.end();
    await made;
  } catch (error) {
    signal?.throwIfAborted();
    const { stderr = '', code } = error as { stderr?: string; code?: unknown };
    const fix = code === 'ENOENT' ? ': install the SSH client of the system (openssh-client)' : '';
    const why = stderr.trim().split('\n').at(-1) || describeError(error);
    throw new CliError(`${failure}: ${why}${fix}`, { cause: error });
  }
}
