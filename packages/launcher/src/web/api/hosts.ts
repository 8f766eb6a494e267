import type { JsonObject } from '@nodepool/zk-protocol';
import { userOf } from '@nodepool/core/service';
import { listOf, orNull, record, ref, TEXT, TIME, WHOLE, type ApiOperation } from '@nodepool/daemon';
import type { LauncherApiSources } from './sources.js';

const SLOT = record({
  ...{ node: TEXT, state: TEXT, user: orNull({ ...TEXT, description: 'Name of its user; null if unused' }) },
});

/** Schema of a host. */
export const HOST_SCHEMA = record({
  ...{ provider: TEXT, pool: TEXT, host: TEXT, port: WHOLE, username: TEXT, labels: listOf(TEXT), slots: WHOLE },
  health: { ...TEXT, description: 'up, down, unknown: not checked yet, or trusted: never contacted' },
  ...{ reason: orNull(TEXT), message: orNull(TEXT), last_check: orNull(TIME), down_since: orNull(TIME) },
  nodes: listOf(SLOT),
});

const seconds = (ms: number | undefined) => (ms === undefined ? null : ms / 1000);

/** Lists the static hosts of this launcher; hosts that are down come first. */
export function hostsToApi({ runtime }: Pick<LauncherApiSources, 'runtime'>): JsonObject[] {
  const rows = runtime.hosts.map(({ nodes, lastCheckMs, downSinceMs, reason, message, labels, ...host }) => ({
    ...host,
    labels: [...labels],
    ...{ reason: reason ?? null, message: message ?? null },
    ...{ last_check: seconds(lastCheckMs), down_since: seconds(downSinceMs) },
    nodes: nodes.map((node) => ({ node: node.id, state: node.state, user: userOf(node) })),
  }));
  return rows.sort((a, b) => Number(b.health === 'down') - Number(a.health === 'down'));
}

/** The operation that lists hosts. */
export function listHosts(sources: LauncherApiSources): ApiOperation {
  return {
    ...{ id: 'listHosts', method: 'GET', path: '/hosts', summary: 'Static hosts: health, last check, users' },
    answer: listOf(ref('Host')),
    handle: () => hostsToApi(sources),
  };
}
