import { describe, expect, it } from 'vitest';
import { newNode, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { userOf } from './user-of.js';

const ALLOCATED = '200-0000000001' as RequestId;

describe('user of a node', () => {
  it.each<[string | null, Partial<NodeRecord>]>([
    [null, { state: 'ready' }],
    ['alice@desk', { state: 'in-use', allocatedTo: ALLOCATED, requestor: 'alice@desk' }],
    ['zuul, tenant acme', { state: 'ready', allocatedTo: ALLOCATED, requestor: 'zuul', tenantName: 'acme' }],
    ['request 200-0000000001', { state: 'ready', allocatedTo: ALLOCATED }],
    ['request unknown', { state: 'in-use' }],
    ['held by bob: disk', { state: 'hold', comment: 'held by bob: disk', allocatedTo: ALLOCATED }],
    ['held for job unit', { state: 'hold', holdJob: 'unit' }],
    ['held', { state: 'hold' }],
  ])('is %s for %j', (user, fields) => {
    expect(userOf({ ...newNode({ state: 'ready' }, 0), ...fields })).toBe(user);
  });
});
