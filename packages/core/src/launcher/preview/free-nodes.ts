import { isIdle } from '@nodepool/zk-protocol';
import { dueAt } from '../../config/standby-schedule.js';
import type { LabelConfig } from '../../contract/config.js';
import { launchesLabel } from '../plan/nodes.js';
import type { ConfigChange, ConfigChangeInput } from './types.js';

/** What `min-ready` and the schedule say for a moment; what follows demand is known to a launcher alone. */
function standbyAt({ minReady, standby }: LabelConfig, atMs: number): number {
  if (minReady < 0 || !standby) return Math.max(0, minReady);
  const { schedule, timeZone, atMost } = standby;
  const due = schedule.filter((each) => dueAt(each, timeZone, atMs, 0) !== undefined);
  return Math.max(minReady, Math.min(atMost, Math.max(0, ...due.map(({ nodes }) => nodes))));
}

/** Nodes that would be launched, to be kept free, because the new configuration requires more of them. */
export function planFreeNodes({
  before,
  after,
  nodes,
  offerBefore,
  offerAfter,
  nowMs,
}: ConfigChangeInput): ConfigChange['freeNodes'] {
  const isOffered = ({ views }: ConfigChangeInput['offerAfter'], label: string) =>
    views.some((view) => launchesLabel(view, label));
  const launched: ConfigChange['freeNodes'][number][] = [];
  for (const [label, config] of after.labels) {
    const wanted = isOffered(offerAfter, label) ? standbyAt(config, nowMs) : 0;
    const known = isOffered(offerBefore, label) ? before?.labels.get(label) : undefined;
    if (wanted <= (known ? standbyAt(known, nowMs) : 0)) continue;
    const free = nodes.filter((node) => isIdle(node) && node.labels.includes(label)).length;
    if (wanted > free) launched.push({ label, count: wanted - free });
  }
  return launched;
}
