import { isFree, type NodeRecord } from '@nodepool/zk-protocol';

/** Assignment of records to the slots of a host. */
export interface SlotPlan {
  /** One entry for each slot; `undefined`: no record. */
  readonly slots: readonly (NodeRecord | undefined)[];
  /** Records without a slot. */
  readonly excess: readonly NodeRecord[];
}

/**
 * Assigns the records of a host to its slots. A record takes the slot it names. If that is taken or does not exist, the
 * record takes the first free slot; without one it is excess. Records in use come first, then older ones, so that every
 * launcher agrees on the excess record when two have registered one slot. A record that is being deleted keeps its
 * slot, since its deletion registers the slot again.
 */
export function planSlots(records: readonly NodeRecord[], slotCount: number): SlotPlan {
  const slots = new Array<NodeRecord | undefined>(slotCount).fill(undefined);
  const unassigned: NodeRecord[] = [];
  for (const record of records.length > 1 ? [...records].sort(byClaim) : records) {
    const { slot } = record;
    if (slot !== null && slot in slots && slots[slot] === undefined) slots[slot] = record;
    else if (record.state !== 'deleting') unassigned.push(record);
  }
  const excess = unassigned.filter((record) => {
    const free = slots.indexOf(undefined);
    if (free < 0) return true;
    slots[free] = record;
    return false;
  });
  return { slots, excess };
}

function byClaim(a: NodeRecord, b: NodeRecord): number {
  return rank(a) - rank(b) || (a.id < b.id ? -1 : 1);
}

function rank(record: NodeRecord): number {
  if (record.state === 'deleting') return 2;
  return isFree(record) ? 1 : 0;
}
