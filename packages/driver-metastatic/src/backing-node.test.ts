import { describe, expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { BackingNode } from './backing-node.js';

function backingNode() {
  const id = '0000000001' as NodeId;
  const stat = { version: 3 } as never;
  const data = { owner: 'o', label: 'small', slots: 4, failed: false, launchedMs: 0, claims: new Map() };
  const backing = new BackingNode({ ...newNode({ state: 'in-use' }, 0), id, stat }, data, { now: () => 0 });
  backing.ownership = 'ours';
  return backing;
}

describe('BackingNode', () => {
  it('offers the slots that are neither occupied nor reserved', () => {
    const backing = backingNode();
    backing.occupied = new Map([[0, '0000000002' as NodeId]]);
    backing.reserved = 1;

    expect([backing.unclaimed, backing.available, backing.isEmpty]).toEqual([2, 2, false]);
  });

  it('offers nothing for now if its record is outdated or its lock unknown', () => {
    const backing = backingNode();
    backing.staleVersion = 3;
    expect([backing.unclaimed, backing.available]).toEqual([4, 0]);

    backing.staleVersion = 2;
    backing.ownership = 'unknown';
    expect([backing.unclaimed, backing.available]).toEqual([4, 0]);
  });

  it.each(['isFailed', 'isDrained'] as const)('offers nothing once it %s', (reason) => {
    const backing = backingNode();
    backing[reason] = true;

    expect([backing.isClosed, backing.unclaimed]).toEqual([true, 0]);
  });

  it('never counts less than zero slots', () => {
    const backing = backingNode();
    backing.reserved = 9;

    expect(backing.unclaimed).toBe(0);
  });
});
