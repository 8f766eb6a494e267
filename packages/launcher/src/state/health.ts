import type { Launcher, SteeringReport } from '@nodepool/core/launcher';
import { alienToHealth } from '@nodepool/daemon';
import { describeCaches } from './state-dump.js';

/** The part of `/healthz` that only launchers have. */
export function launcherHealth(runtime: Launcher): Record<string, unknown> {
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
    leaked_resources: runtime.leakedResources.map(({ provider, type, id, nodeId, sinceMs, error }) => ({
      ...{ provider, type, id, node: nodeId ?? null, since: new Date(sinceMs).toISOString(), error: error ?? null },
    })),
    alien_resources: runtime.alienResources.map(alienToHealth),
    failing_launches: runtime.failingLaunches.map(({ provider, report }) => ({
      provider,
      ...healthOf(report.provider),
      slow: report.speed.state === 'healthy' ? null : healthOf(report.speed),
      zones: report.zones.map(({ zone, label, health }) => ({ zone, label, ...healthOf(health) })),
      labels: [...report.labels, ...report.doubted].map(({ label, health }) => ({ label, ...healthOf(health) })),
    })),
    pools: runtime.pools,
    caches: describeCaches(runtime),
  };
}

/** Names of health states in `/healthz`, kept from older versions. */
const STATE_WORDS = { healthy: 'closed', failing: 'open', probing: 'probing' } as const;

function healthOf({
  state,
  failures,
  error,
  failedMs,
  nextProbeMs,
}: SteeringReport['provider']): Record<string, unknown> {
  const timeOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    state: STATE_WORDS[state],
    failures,
    error: error ?? null,
    error_at: timeOf(failedMs),
    next_probe: timeOf(nextProbeMs),
  };
}
