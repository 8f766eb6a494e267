import type { RequestRecord } from '@nodepool/zk-protocol';

/** Pool workers are named `<host>-PoolWorker.<provider>-<pool>-<32 hex digits>`. */
const WORKER_ID = /-PoolWorker\.(.+)-[0-9a-f]{32}$/;

/** Provider and pool of a launcher id. */
export const poolNameOf = (launcherId: string): string => WORKER_ID.exec(launcherId)?.[1] ?? launcherId;

/** Last reason of each pool that did not take the request, e.g. `rack-main: no label big`, grouped by reason. */
export function reasonsByPool({ declineReasons }: Pick<RequestRecord, 'declineReasons'>): string[] {
  const launchers = new Map<string, string[]>();
  for (const [launcher, { text }] of Object.entries(declineReasons)) {
    launchers.set(text, [...(launchers.get(text) ?? []), launcher]);
  }
  return [...launchers].map(([text, ids]) => `${poolNames(ids)}: ${text}`);
}

/** Names of the pools of these launcher ids, each once: several launchers may have the same pool. */
export function poolNames(launcherIds: readonly string[]): string {
  return [...new Set(launcherIds.map(poolNameOf))].join(', ');
}
