import type { ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { AlienResource, Condition } from '@nodepool/core/service';
import { conditionToJson } from '@nodepool/core/service';
import type { ReloadStatus } from './reloader.js';
import type { DaemonRuntime } from './runtime.js';
import { describeConnection } from './state-dump.js';
import type { HealthReport } from './web/status-routes.js';

/** Input of {@link createHealthReport}. */
export interface HealthFacts {
  readonly version: string;
  readonly hostname: string;
  readonly startedMs: number;
  readonly nowMs: number;
  readonly draining: boolean;
  readonly config: Config;
  readonly reload: ReloadStatus;
  readonly zk: ZooKeeper;
  readonly runtime: Pick<DaemonRuntime, 'notReady' | 'health'>;
  /** Conditions of this service. */
  readonly conditions: readonly Condition[];
}

function statusOf({ draining, conditions, reload, runtime }: HealthFacts): HealthReport['status'] {
  if (draining) return 'draining';
  const isConfigNotInForce = reload.restartNeeded.length > 0;
  if (isConfigNotInForce || conditions.some(({ severity }) => severity === 'error')) return 'degraded';
  return runtime.notReady.length === 0 ? 'ok' : 'starting';
}

/** Creates the answer of `/healthz`. */
export function createHealthReport(facts: HealthFacts): HealthReport {
  const { config, reload, runtime, zk } = facts;
  return {
    status: statusOf(facts),
    version: facts.version,
    hostname: facts.hostname,
    pid: process.pid,
    uptime_seconds: Math.round((facts.nowMs - facts.startedMs) / 1000),
    not_ready: runtime.notReady,
    zookeeper: describeConnection(zk),
    config: {
      file: config.file,
      loaded_at: new Date(reload.loadedMs).toISOString(),
      error: reload.publicError ?? null,
      restart_needed: reload.restartNeeded,
      warnings: config.warnings.length,
      providers: [...config.providers.keys()],
      unserved_providers: [...(config.unserved?.keys() ?? [])],
    },
    conditions: facts.conditions.map(conditionToJson),
    ...runtime.health(),
    memory_rss_bytes: process.memoryUsage.rss(),
  };
}

/** An entry of `alien_resources` in `/healthz`. */
export function alienToHealth(alien: AlienResource & { readonly provider: string }): Record<string, string | null> {
  const { provider, type, id, name, nodeId, buildId, databaseId, sinceMs } = alien;
  return {
    ...{ provider, type, id, name: name ?? null, node: nodeId ?? null, build: buildId ?? null },
    ...{ database: databaseId ?? null, since: new Date(sinceMs).toISOString() },
  };
}
