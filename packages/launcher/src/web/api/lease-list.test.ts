import { newLease, withLease, type LeaseState } from '@nodepool/zk-protocol';
import { VirtualClock } from '@nodepool/core/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LeaseCaller } from './lease-access.js';
import { LeaseList, type LeaseQuery } from './lease-list.js';

const alice = { name: 'alice', owner: 'alice', admin: false } as LeaseCaller;
const fields = { owner: 'alice', token: 'alice', labels: ['a'], ttlMs: 1, digest: '', keeper: '' };
const leaseOf = (id: string, state: LeaseState = 'active', createdMs = 0) =>
  withLease(newLease({ ...fields, id }, createdMs), { state }, createdMs);

let clock: VirtualClock;
let list: LeaseList;

beforeEach(() => {
  clock = new VirtualClock();
  list = new LeaseList(clock);
});

const ids = (leases: ReturnType<typeof leaseOf>[], query: LeaseQuery = {}, who = alice) =>
  list.page(leases, who, query).leases.map(({ id }) => id);

describe('a list of leases', () => {
  const all = [leaseOf('w', 'waiting'), leaseOf('a'), leaseOf('e', 'ended'), leaseOf('f', 'failed')];

  it.each([
    [undefined, 'a w'],
    ['open', 'a w'],
    ['ended', 'e'],
    ['all', 'a e f w'],
  ])('in state %s has %s', (state, expected) => {
    expect(ids(all, { state }).join(' ')).toBe(expected);
  });

  it('has pages without a gap, also when the last lease of one is forgotten before the next is read', () => {
    const leases = Array.from({ length: 25 }, (_, i) => leaseOf(`l${i % 7}-${i}`, 'active', (i % 3) * 1_500.1234));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = list.page(cursor === undefined ? leases : leases.filter(({ id }) => id !== seen.at(-1)), alice, {
        ...{ limit: 10, cursor },
      });
      seen.push(...page.leases.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);

    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
  });

  it('refuses a wrong cursor with what it should be', () => {
    expect(() => ids(all, { cursor: 'x' })).toThrow(/CREATED_TIME:ID/);
  });
});

it('a token has a number of leases listed a second, and another token as many', async () => {
  const leases = Array.from({ length: 500 }, (_, i) => leaseOf(`l${i}`, 'ended'));
  const many = () => {
    let count = 0;
    for (let i = 0; i < 20; i++) {
      try {
        count += ids(leases, { state: 'ended', limit: 500 }).length;
      } catch (error) {
        expect(error).toMatchObject({ status: 429, code: 'too-fast' });
      }
    }
    return count;
  };

  const first = many();
  expect(first).toBeLessThanOrEqual(2_500);
  expect(ids(leases, { state: 'ended' }, { ...alice, name: 'other' })).toHaveLength(100);
  await clock.advance(2_000);

  expect(many()).toBeGreaterThan(500);
});
