import { isStandby } from '@nodepool/zk-protocol';
import { dueAt } from '../../config/standby-schedule.js';
import type { LabelConfig } from '../../contract/config.js';
import { ageLimitOf, keepsStandby, planStandby } from '../plan/nodes.js';
import type { ConfigChange, ConfigChangeInput } from './types.js';

/** What `min-ready` and the schedule say for a moment; what follows demand is known to a launcher alone. */
function standbyAt({ minReady, standby }: LabelConfig, atMs: number): number {
  if (minReady < 0 || !standby) return Math.max(0, minReady);
  const { schedule, timeZone, atMost } = standby;
  const due = schedule.filter((each) => dueAt(each, timeZone, atMs, 0) !== undefined);
  return Math.max(minReady, Math.min(atMost, Math.max(0, ...due.map(({ nodes }) => nodes))));
}

/** Standby nodes that would be launched because the new configuration requires more of them. */
export function planStandbyChanges({
  before,
  after,
  nodes,
  offerBefore,
  offerAfter,
  nowMs,
}: ConfigChangeInput): ConfigChange['standby'] {
  const isOffered = ({ views }: ConfigChangeInput['offerAfter'], label: string) =>
    views.some((view) => keepsStandby(view, label));
  const standby: ConfigChange['standby'][number][] = [];
  for (const [label, config] of after.labels) {
    const wanted = isOffered(offerAfter, label) ? standbyAt(config, nowMs) : 0;
    const known = isOffered(offerBefore, label) ? before?.labels.get(label) : undefined;
    if (wanted <= (known ? standbyAt(known, nowMs) : 0)) continue;
    const free = nodes.filter((node) => isStandby(node) && node.labels.includes(label)).length;
    const count = planStandby(wanted, { free, asked: 0 });
    if (count > 0) standby.push({ label, count });
  }
  return standby;
}

/** Free nodes that a new `max-ready-age`, and held ones that a new `max-hold-age`, would delete at once. */
export function planExpiry({ before, after, nodes, nowMs }: ConfigChangeInput): ConfigChange['delete'][number][] {
  const deleted: ConfigChange['delete'][number][] = [];
  for (const node of nodes) {
    const ageMs = nowMs - node.stateTimeMs;
    const limit = ageLimitOf(node, after);
    if (limit === undefined || node.provider === null || !after.providers.has(node.provider)) continue;
    const isLate = ageMs > limit.ms;
    const wasLate = before !== undefined && ageMs > (ageLimitOf(node, before)?.ms ?? Infinity);
    if (!isLate || wasLate) continue;
    const why = `${node.state} for ${Math.round(ageMs / 1000)} s, ${limit.key} would be ${limit.ms / 1000} s`;
    deleted.push({ node: node.id, provider: node.provider, why });
  }
  return deleted;
}
