import type { ChangePreview } from '@nodepool/core';
import { isFree, type NodeRecord } from '@nodepool/zk-protocol';
import { hostIdentity } from './config.js';
import type { StaticProviderConfig } from './config.js';
import { SlotIndex } from './slot-index.js';
import { planSlots } from './slot-plan.js';

/** Slots that a configuration would register and records that it would delete, if all hosts answer. */
export function previewChange(config: StaticProviderConfig, nodes: readonly NodeRecord[]): ChangePreview {
  const index = new SlotIndex(config.name);
  for (const node of nodes) index.apply({ id: node.id, before: undefined, after: node });
  const hosts = [...config.pools.values()].flatMap((pool) => pool.hosts);
  const configured = new Set(hosts.map(hostIdentity));
  const register: ChangePreview['register'][number][] = [];
  const deleted: ChangePreview['delete'][number][] = [];
  for (const host of hosts) {
    const { slots, excess } = planSlots(index.recordsOf(hostIdentity(host)), host.maxParallelJobs);
    const count = slots.filter((slot) => slot === undefined).length;
    if (count > 0) register.push({ what: host.name, labels: host.labels, count });
    for (const record of excess) deleted.push(removal(record, 'the host has no such slot'));
  }
  for (const identity of index.identities()) {
    if (configured.has(identity)) continue;
    for (const record of index.recordsOf(identity)) deleted.push(removal(record, 'the host is not configured'));
  }
  return { register, delete: deleted };
}

function removal(record: NodeRecord, why: string): ChangePreview['delete'][number] {
  const name = record.hostname ?? 'unknown host';
  const later = isFree(record) ? '' : `, once it is no longer ${record.state}`;
  return { node: record.id, why: `${why} (${name}${later})` };
}
