import { newLease } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { TokenSlots } from './token-slots.js';

const lease = (id: string, slots: number[] = []) =>
  newLease({ id, owner: 'alice', token: 'alice', labels: ['a'], ttlMs: 1, digest: '', keeper: '', slots }, 0);
const none = new Set<number>();

describe('the numbers of a token', () => {
  it('are taken until it has as many nodes as it may, and are free again when a lease is over', () => {
    const slots = new TokenSlots({ random: () => 0.5 });
    const one = slots.take(lease('l1'), 2, none);
    expect([...(one ?? []), ...(slots.take(lease('l2'), 2, none) ?? [])].sort()).toEqual([0, 1]);
    expect(slots.take(lease('l3'), 2, none)).toBeUndefined();

    slots.changed({ id: 'l1', before: lease('l1', one), after: lease('l1') });

    expect(slots.take(lease('l3'), 2, none)).toEqual(one);
  });

  it('are none of those that ZooKeeper has shown to be occupied', () => {
    const slots = new TokenSlots({ random: () => 0 });
    expect(slots.take(lease('l1'), 3, new Set([0, 1]))).toEqual([2]);
    expect(slots.take(lease('l2'), 3, new Set([0, 1]))).toBeUndefined();
  });

  it('count leases of other launchers, also above a lowered limit', () => {
    const slots = new TokenSlots({ random: () => 0 });
    slots.changed({ id: 'l1', before: undefined, after: lease('l1', [7]) });

    expect(slots.take(lease('l2'), 1, none)).toBeUndefined();
    expect(slots.take({ ...lease('l2'), token: 'bob' }, 1, none)).toEqual([0]);
  });

  it('are given back by the lease that has not got them, and by no other', () => {
    const slots = new TokenSlots({ random: () => 0 });
    slots.take(lease('l1'), 1, none);
    slots.release('alice', 'l2', [0]);
    expect(slots.take(lease('l3'), 1, none)).toBeUndefined();

    slots.release('alice', 'l1', [0]);

    expect(slots.take(lease('l3'), 1, none)).toEqual([0]);
  });
});
