import type { NodeRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { ConfigChange, ConfigChangeInput } from './types.js';

/** Standby nodes that labels would lack under the new configuration and did not have to have under the old one. */
export function planStandby({
  before,
  after,
  nodes,
  offerBefore,
  offerAfter,
}: ConfigChangeInput): ConfigChange['standby'] {
  const isOffered = ({ views }: ConfigChangeInput['offerAfter'], label: string) =>
    views.some(({ launches, pool }) => launches && pool.labels.has(label) && pool.maxServers > 0);
  const standby: ConfigChange['standby'][number][] = [];
  for (const { name: label, minReady } of after.labels.values()) {
    const wanted = isOffered(offerAfter, label) ? minReady : 0;
    const old = before && isOffered(offerBefore, label) ? (before.labels.get(label)?.minReady ?? 0) : 0;
    if (wanted <= Math.max(0, old)) continue;
    const ready = nodes.filter((node) => isStandby(node) && node.labels.includes(label)).length;
    if (wanted > ready) standby.push({ label, count: wanted - ready });
  }
  return standby;
}

/** Free nodes that a new `max-ready-age`, and held ones that a new `max-hold-age`, would delete at once. */
export function planExpiry({ before, after, nodes, nowMs }: ConfigChangeInput): ConfigChange['delete'][number][] {
  const deleted: ConfigChange['delete'][number][] = [];
  for (const node of nodes) {
    const ageMs = nowMs - node.stateTimeMs;
    const limit = limitOf(node, after);
    if (limit === undefined || node.provider === null || !after.providers.has(node.provider)) continue;
    const isLate = ageMs > limit.ms;
    const wasLate = before !== undefined && ageMs > (limitOf(node, before)?.ms ?? Infinity);
    if (!isLate || wasLate) continue;
    const why = `${node.state} for ${Math.round(ageMs / 1000)} s, ${limit.key} would be ${limit.ms / 1000} s`;
    deleted.push({ node: node.id, provider: node.provider, why });
  }
  return deleted;
}

function limitOf(node: NodeRecord, config: Config): { key: string; ms: number } | undefined {
  if (isStandby(node)) {
    const ages = node.labels.map((label) => config.labels.get(label)?.maxReadyAgeMs ?? 0).filter((ms) => ms > 0);
    return ages.length > 0 ? { key: 'max-ready-age', ms: Math.min(...ages) } : undefined;
  }
  return node.state === 'hold' && config.maxHoldAgeMs > 0
    ? { key: 'max-hold-age', ms: config.maxHoldAgeMs }
    : undefined;
}

function isStandby({ state, allocatedTo }: NodeRecord): boolean {
  return state === 'ready' && allocatedTo === null;
}
