import { describe, expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import { BackingNode } from './backing-node.js';
import { LabelBook } from './label-book.js';

function backing(id: string, slots: number, taken: number): BackingNode {
  const data = { owner: 'o', label: 'l', slots, failed: false, launchedMs: 0, claims: new Map<number, NodeId>() };
  const node = new BackingNode({ ...newNode({ state: 'in-use' }, 0), id: id as NodeId }, data, 0);
  node.ownership = 'ours';
  node.staleVersion = -2;
  node.occupied = new Map(Array.from({ length: taken }, (_, slot) => [slot, `n${slot}` as NodeId]));
  return node;
}

describe('the book of a label', () => {
  it('offers the fullest backing node first', () => {
    const book = new LabelBook();
    const [empty, fuller] = [backing('a', 4, 0), backing('b', 4, 3)];
    book.put(empty);
    book.put(fuller);

    expect(book.fullest()).toBe(fuller);
    fuller.reserved = 1;
    book.put(fuller);
    expect(book.fullest()).toBe(empty);
    expect(book.supply).toBe(4);
    expect(book.reserved).toBe(1);
  });

  it('offers none that is closed, foreign, or was written by somebody else meanwhile', () => {
    const book = new LabelBook();
    const [closed, foreign, unknown, stale] = [1, 2, 3, 4].map((id) => backing(String(id), 2, 0));
    if (!closed || !foreign || !unknown || !stale) throw new Error('unreachable');
    closed.isFailed = true;
    foreign.ownership = 'foreign';
    unknown.ownership = 'unknown';
    stale.staleVersion = 7;
    for (const node of [closed, foreign, unknown, stale]) book.put(node);

    expect(book.fullest()).toBeUndefined();
    expect(book.supply).toBe(4); // two are only not known well enough yet
  });

  it('forgets what is removed', () => {
    const book = new LabelBook();
    const node = backing('a', 2, 0);
    book.put(node);

    book.remove(node);

    expect(book.fullest()).toBeUndefined();
    expect(book.supply).toBe(0);
  });
});
