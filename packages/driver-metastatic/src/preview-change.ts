import type { ChangePreview } from '@nodepool/core';
import { isFree, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { settingsOf } from './config.js';
import type { MetastaticProviderConfig } from './config.js';
import { identityOf, parseBackingData, placeOf } from './user-data.js';

/** Backing nodes that a configuration would return, and free slots that it would delete. */
export function previewChange(
  config: MetastaticProviderConfig,
  nodes: readonly NodeRecord[],
  all: readonly NodeRecord[],
): ChangePreview {
  const owner = identityOf(config.name);
  const slots = new Map<NodeId, NodeRecord[]>();
  for (const node of nodes) {
    const place = placeOf(node);
    if (place) slots.set(place.backingNode, [...(slots.get(place.backingNode) ?? []), node]);
  }
  const deleted: ChangePreview['delete'][number][] = [];
  for (const node of all) {
    const data = node.state === 'in-use' ? parseBackingData(node.userData, owner) : undefined;
    if (!data || settingsOf(config, data.label)) continue;
    const taken = slots.get(node.id) ?? [];
    const free = taken.filter(isFree);
    const used = taken.length - free.length;
    const later = used === 0 ? '' : `, once ${used === 1 ? 'the slot' : `the ${used} slots`} in use on it ended`;
    deleted.push({
      node: node.id,
      why: `backing node of label "${data.label}", which is removed: returned to "${node.provider}"${later}`,
    });
    for (const { id } of free)
      deleted.push({ node: id, why: `free slot on backing node ${node.id}, which is returned` });
  }
  return { register: [], delete: deleted, leavesOthers: true };
}
