import { expect, it } from 'vitest';
import { newNode } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, RequestId } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { previewChange } from './driver.js';
import { formatBackingData, identityOf } from './user-data.js';

function configOf(...labels: string[]) {
  const entries = labels.map((name) => ({ name, 'backing-label': 'big' }));
  const entry = { name: 'meta', driver: 'metastatic', pools: [{ name: 'main', labels: entries }] };
  return readProviderConfig(entry, { labels: new Map(), diskimages: new Map(), problem: () => {} });
}

function node(id: string, changes: Partial<NodeRecord>): NodeRecord {
  return {
    ...newNode({ state: 'in-use', labels: ['big'], provider: 'rack', pool: 'main' }, 0),
    id: id as NodeId,
    ...changes,
  };
}

function backing(id: string, label: string, provider = 'meta'): NodeRecord {
  const data = { owner: identityOf(provider), label, slots: 4, failed: false, launchedMs: 0, claims: new Map() };
  return node(id, { userData: formatBackingData(data) });
}

function slot(id: string, on: string, changes: Partial<NodeRecord> = {}): NodeRecord {
  const driverData = { backing_node: on, slot: 0, node: id };
  return node(id, { labels: ['small'], provider: 'meta', driverData, ...changes });
}

it('names the backing nodes of a label that goes, and the free slots on them', () => {
  const slots = [
    slot('11', '1'),
    slot('12', '1', { state: 'ready' }),
    slot('13', '1', { state: 'ready', allocatedTo: '100-1' as RequestId }),
  ];
  const all = [backing('1', 'small'), backing('2', 'other'), backing('3', 'small', 'else'), ...slots];

  const preview = previewChange(configOf('other'), slots, all);

  expect(preview.delete).toEqual([
    {
      node: '1',
      why: 'backing node of label "small", which is removed: returned to "rack", once the 2 slots in use on it ended',
    },
    { node: '12', why: 'free slot on backing node 1, which is returned' },
  ]);
});

it('returns all backing nodes of a removed provider', () => {
  const all = [backing('1', 'small'), backing('2', 'other')];

  const preview = previewChange(configOf(), [], all);

  expect(preview.delete.map((item) => item.node)).toEqual(['1', '2']);
});

it('has nothing to say while every label stays', () => {
  const slots = [slot('11', '1', { state: 'ready' })];

  const preview = previewChange(configOf('small'), slots, [backing('1', 'small'), ...slots]);

  expect(preview).toEqual({ register: [], delete: [], leavesOthers: true });
});
