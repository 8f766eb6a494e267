import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { listingToLines, listingToObjects } from './listing.js';
import { extendedNodeListing } from './nodes.js';

const STATE_TIME_MS = Date.UTC(2026, 10, 23, 7, 50, 12, 345);
const fields = new Set(['state_time', 'hold_until']);

function row(changes: Partial<NodeRecord>) {
  const node = { ...newNode({ state: 'hold', ...changes }, STATE_TIME_MS), id: '0000000001' as NodeId };
  return [{ node, locked: false }];
}

describe('times of a node', () => {
  it.each([
    ['a hold with an end', { holdExpirationMs: 3_600_000 }, '2026-11-23T07:50:12Z  2026-11-23T08:50:12Z'],
    ['a hold without an end', {}, '2026-11-23T07:50:12Z  -'],
    ['a node that is not held', { state: 'ready', holdExpirationMs: 3_600_000 } as const, '2026-11-23T07:50:12Z  -'],
  ])('are times in tables: %s', (_name, changes, line) => {
    expect(listingToLines(extendedNodeListing, row(changes), 0, { fields })).toBe(line);
  });

  it('are seconds in JSON', () => {
    const [object] = listingToObjects(extendedNodeListing, row({ holdExpirationMs: 3_600_000 }), 0, fields);

    expect(object).toEqual({ state_time: STATE_TIME_MS / 1000, hold_until: STATE_TIME_MS / 1000 + 3600 });
  });
});
