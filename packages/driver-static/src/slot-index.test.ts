import { describe, expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { identityOf } from './config.js';
import { SlotIndex } from './slot-index.js';

const record = (more: NodeFields = {}): NodeRecord => ({
  ...newNode({ state: 'ready', provider: 'rack', hostname: 'h1', username: 'zuul', connectionPort: 22, ...more }, 0),
  id: '0000000001' as NodeId,
});
const H1 = identityOf('h1', 'zuul', 22);
const H2 = identityOf('h2', 'zuul', 22);
const change = (before: NodeRecord | undefined, after: NodeRecord | undefined) => ({ id: '0000000001', before, after });

describe('SlotIndex', () => {
  it('ignores records of other providers', () => {
    const index = new SlotIndex('rack');

    expect(index.apply(change(undefined, record({ provider: 'cloud' })))).toBeUndefined();
    expect([...index.identities()]).toEqual([]);
  });

  it('moves a record whose host changes, and counts the change for both hosts', () => {
    const index = new SlotIndex('rack');
    const before = record();
    const after = record({ hostname: 'h2' });
    index.apply(change(undefined, before));

    expect(index.apply(change(before, after))).toEqual({ left: H1, joined: H2 });

    expect(index.recordsOf(H1)).toEqual([]);
    expect(index.recordsOf(H2)).toEqual([after]);
    expect(index.revisionOf(H1)).toBe(index.revisionOf(H2));
  });

  it.each(['init', 'building', 'deleted'] as const)('counts no record in state %s', (state) => {
    const index = new SlotIndex('rack');

    expect(index.apply(change(undefined, record({ state })))).toBeUndefined();
  });

  it('forgets a host without records, but not its revision', () => {
    const index = new SlotIndex('rack');
    index.apply(change(undefined, record()));
    const revision = index.revisionOf(H1);

    expect(index.apply(change(record(), undefined))).toEqual({ left: H1, joined: undefined });

    expect([...index.identities()]).toEqual([]);
    expect(index.revisionOf(H1)).toBeGreaterThan(revision);
  });
});
