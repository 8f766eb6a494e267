import { newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { planSlots } from './slot-plan.js';

const record = (id: string, slot: number | null, more: NodeFields = {}): NodeRecord => ({
  ...newNode({ state: 'ready', slot, ...more }, 0),
  id: id as NodeId,
});
const ids = (records: readonly (NodeRecord | undefined)[]) => records.map((each) => each?.id);

describe('planSlots', () => {
  it('leaves every record in its slot', () => {
    const { slots, excess } = planSlots([record('b', 1), record('a', 0)], 3);

    expect(ids(slots)).toEqual(['a', 'b', undefined]);
    expect(excess).toEqual([]);
  });

  it('gives a record without a slot, or with one that does not exist, the first free one', () => {
    const { slots } = planSlots([record('a', null), record('b', 7), record('c', 0)], 3);

    expect(ids(slots)).toEqual(['c', 'a', 'b']);
  });

  it('calls the newer of two records for one slot excess', () => {
    const { slots, excess } = planSlots([record('b', 0), record('a', 0)], 1);

    expect(ids(slots)).toEqual(['a']);
    expect(ids(excess)).toEqual(['b']);
  });

  it('lets a record in use keep its slot against an older free one', () => {
    const { slots, excess } = planSlots([record('a', 0), record('b', 0, { state: 'in-use' })], 1);

    expect(ids(slots)).toEqual(['b']);
    expect(ids(excess)).toEqual(['a']);
  });

  it('counts a record that is being deleted as long as no other has its slot', () => {
    const leaving = record('a', 0, { state: 'deleting' });

    expect(ids(planSlots([leaving], 1).slots)).toEqual(['a']);
    expect(planSlots([leaving, record('b', 0)], 1)).toMatchObject({ slots: [{ id: 'b' }], excess: [] });
  });

  it('has no slots for a host with none', () => {
    expect(ids(planSlots([record('a', 0)], 0).excess)).toEqual(['a']);
  });
});
