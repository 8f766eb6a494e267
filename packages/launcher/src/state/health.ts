import type { LauncherRuntime } from './runtime.js';
import { describeCaches } from './state-dump.js';

/** What `/healthz` says of a launcher beside what it says of every service. */
export function launcherHealth(runtime: LauncherRuntime): Record<string, unknown> {
  return {
    provider_errors: runtime.providerErrors.map(({ provider }) => ({ provider, error: 'see the log' })),
    draining_providers: runtime.drainingProviders.map(({ provider, nodes, sinceMs }) => ({
      provider,
      state: 'draining',
      nodes,
      since: new Date(sinceMs).toISOString(),
    })),
    failing_deletions: runtime.failingDeletions.map(({ nodeId, attempts, error }) => ({
      node: nodeId,
      attempts,
      error: error ?? null,
    })),
    pools: runtime.pools,
    caches: describeCaches(runtime),
  };
}
