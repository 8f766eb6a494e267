import { isFree, type NodeRecord } from '@nodepool/zk-protocol';

/** Which record stands for which slot of a host. */
export interface SlotPlan {
  /** One entry for each slot; `undefined`: no record yet. */
  readonly slots: readonly (NodeRecord | undefined)[];
  /** Records without a slot. */
  readonly excess: readonly NodeRecord[];
}

/**
 * Puts a host's records into its slots. A record takes the slot it names; one whose slot is taken or does not exist
 * takes the first free one; what then remains is excess. Records in use go first, then older ones, so that every
 * launcher calls the same record excess when two have registered one slot. A record that is being deleted keeps its
 * slot, since its deletion registers the slot anew.
 */
export function planSlots(records: readonly NodeRecord[], slotCount: number): SlotPlan {
  const slots = new Array<NodeRecord | undefined>(slotCount).fill(undefined);
  const homeless: NodeRecord[] = [];
  for (const record of records.length > 1 ? [...records].sort(byClaim) : records) {
    const { slot } = record;
    if (slot !== null && slot in slots && slots[slot] === undefined) slots[slot] = record;
    else if (record.state !== 'deleting') homeless.push(record);
  }
  const excess = homeless.filter((record) => {
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
