import { newNode, newRequest, type NodeId, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { NODES_PER_TRANSACTION } from './locks.js';
import { assignPresent, exceedsTenant } from './present-nodes.js';

const id = '200-0000000001' as RequestId;

function node(number: number, changes: Partial<NodeRecord> = {}): NodeRecord {
  const fields = { state: 'building', labels: ['a'], allocatedTo: id, launchState: {}, az: 'north' } as const;
  return { ...newNode(fields, 0), id: String(number) as NodeId, ...changes };
}

/** Ids of the nodes by part; `-`: none. */
function present(labels: readonly string[], nodes: readonly NodeRecord[]): string | undefined {
  const assignment = assignPresent({ ...newRequest({ labels }, 0), id }, nodes);
  return assignment?.parts.map(({ source }) => (source.kind === 'node' ? source.node.id : '-')).join(' ');
}

describe('assignPresent', () => {
  it('gives each label a node that has it, and leaves parts without one open', () => {
    expect(present(['a', 'b', 'a'], [node(1, { labels: ['b'] }), node(2, { state: 'ready' })])).toBe('2 1 -');
  });

  it('leaves out nodes that are of no use any more', () => {
    expect(present(['a'], [node(1, { state: 'failed' }), node(2)])).toBe('2');
  });

  it('keeps the zone, and knows whether something is missing', () => {
    const request = { ...newRequest({ labels: ['a', 'a'] }, 0), id };

    expect(assignPresent(request, [node(1)])).toMatchObject({ az: 'north', complete: false });
    expect(assignPresent(request, [node(1), node(2)])).toMatchObject({ complete: true });
  });

  it('assigns none if one does not fit, or they are too many for a transaction', () => {
    const many = Array.from({ length: NODES_PER_TRANSACTION + 1 }, (_, i) => node(i));

    expect(present(['a'], [node(1), node(2)])).toBeUndefined();
    expect(
      present(
        many.map(() => 'a'),
        many,
      ),
    ).toBeUndefined();
  });
});

describe('exceedsTenant', () => {
  it.each([
    [4, false],
    [5, true],
  ])('compares what is used and promised with the limit of the tenant: %i of 4: %s', (used, exceeds) => {
    const view = { tenantLimit: () => ({ instances: 4 }), tenantUsed: () => ({ instances: used }) };

    expect(exceedsTenant({ tenantName: 't' }, view)).toBe(exceeds);
    expect(exceedsTenant({ tenantName: null }, view)).toBe(false);
  });
});
