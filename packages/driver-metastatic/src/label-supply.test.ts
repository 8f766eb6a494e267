import { describe, expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { BackingNode } from './backing-node.js';
import { LabelSupply } from './label-supply.js';

function backing(id: string, slots: number, taken: number): BackingNode {
  const data = { owner: 'o', label: 'l', slots, failed: false, launchedMs: 0, claims: new Map<number, NodeId>() };
  const node = new BackingNode({ ...newNode({ state: 'in-use' }, 0), id: id as NodeId }, data, { now: () => 0 });
  node.ownership = 'ours';
  node.staleVersion = -2;
  node.occupied = new Map(Array.from({ length: taken }, (_, slot) => [slot, `n${slot}` as NodeId]));
  return node;
}

describe('the supply of a label', () => {
  it('offers the fullest backing node first', () => {
    const supply = new LabelSupply();
    const [empty, fuller] = [backing('a', 4, 0), backing('b', 4, 3)];
    supply.put(empty);
    supply.put(fuller);

    expect(supply.fullest()).toBe(fuller);
    fuller.reserved = 1;
    supply.put(fuller);
    expect(supply.fullest()).toBe(empty);
    expect(supply.supply).toBe(4);
    expect(supply.reserved).toBe(1);
  });

  it('offers none that is closed, foreign, or was written by another process meanwhile', () => {
    const supply = new LabelSupply();
    const [closed, foreign, unknown, stale] = [1, 2, 3, 4].map((id) => backing(String(id), 2, 0));
    if (!closed || !foreign || !unknown || !stale) throw new Error('unreachable');
    closed.isFailed = true;
    foreign.ownership = 'foreign';
    unknown.ownership = 'unknown';
    stale.staleVersion = 7;
    for (const node of [closed, foreign, unknown, stale]) supply.put(node);

    expect(supply.fullest()).toBeUndefined();
    expect(supply.supply).toBe(4); // two are only not known well enough yet
  });

  it('forgets removed labels', () => {
    const supply = new LabelSupply();
    const node = backing('a', 2, 0);
    supply.put(node);

    supply.remove(node);

    expect(supply.fullest()).toBeUndefined();
    expect(supply.supply).toBe(0);
  });
});
