import type { FoundCondition } from '@nodepool/core';
import type { RefusedClient } from './client.js';

/** Condition of a client that the daemon does not trust. */
export function untrustedConditions(provider: string, refused: RefusedClient | undefined): FoundCondition[] {
  if (!refused) return [];
  return [
    {
      ...{ kind: 'provider', name: provider, type: 'LoginRefused', severity: 'error', reason: 'Untrusted', ...refused },
      nextStep:
        'on the server: incus config trust add NAME (LXD: lxc config trust add), and set its token as trust-token',
      evidence: {},
    },
  ];
}
