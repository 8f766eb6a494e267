import { ConfigError } from '@nodepool/core';
import { isOpenStackError } from './client/errors.js';

/** What Nova says of a name that it cannot use, where the driver may not list such things itself. */
const TEXTS = [
  [/key_?(pair|name)/i, 'KeyPairMissing', 'correct "key-name" of the label, or import the key pair'],
  [/(multiple|more than one) security.?group|security.?group.*more specific/i, 'SecurityGroupAmbiguous', 'use the id'],
  [/security.?group/i, 'SecurityGroupMissing', 'correct "security-groups" of the pool, or create the group'],
] as const;

/** The error for a label whose names Nova refuses; `undefined`: it is about something else. */
export function misnamed(error: unknown): ConfigError | undefined {
  if (!isOpenStackError(error) || error.status === undefined || error.status >= 500) return undefined;
  const found = TEXTS.find(([pattern]) => pattern.test(error.reason ?? ''));
  return found && new ConfigError(error.message, [], { reason: found[1], nextStep: found[2] });
}
