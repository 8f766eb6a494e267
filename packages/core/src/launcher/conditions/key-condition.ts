import { newCondition, CONDITION_TYPES } from '../../conditions/condition-types.js';
import type { FoundCondition } from '../../contract/condition.js';
import { SshLoginError, type SshLoginFailure } from '../../login/errors.js';
import type { FailingLogin } from '../leases/key-logins.js';

const REASONS: Readonly<Record<SshLoginFailure, string>> = {
  'key-file': 'KeyFile',
  'no-answer': 'NoAnswer',
  'host-key': 'HostKeyMismatch',
  refused: 'LoginRefused',
  'not-done': 'NotDone',
};

/** The last lease of a provider whose key could not be added. */
export function keyCondition({ provider, host, error, sinceMs, lastSeenMs }: FailingLogin): FoundCondition {
  const reason = error instanceof SshLoginError ? REASONS[error.failure] : 'NotDone';
  return newCondition('LeaseKeyNotAdded', {
    ...{ name: provider, reason, sinceMs, lastSeenMs, evidence: { provider, host } },
    message: `the SSH key of a lease could not be added to ${host}: ${error.message}`,
    nextStep: CONDITION_TYPES.LeaseKeyNotAdded.nextStep,
  });
}
