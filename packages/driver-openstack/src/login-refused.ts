import type { FoundCondition } from '@nodepool/core';
import type { RefusedLogin } from './client/token-source.js';
import type { OpenStackProvider } from './config.js';

/** The condition of a provider with refused credentials. */
export function loginRefused({ name, cloud }: OpenStackProvider, refusal: RefusedLogin): FoundCondition {
  const { error, sinceMs, lastSeenMs } = refusal;
  return {
    kind: 'provider',
    name,
    type: 'LoginRefused',
    severity: 'error',
    reason: 'Unauthorized',
    message: error.message,
    nextStep: `correct the credentials of cloud "${cloud}" in clouds.yaml, or in Keystone`,
    evidence: { cloud, status: error.status ?? null },
    sinceMs,
    lastSeenMs,
  };
}
