import { expect, it } from 'vitest';
import { labelValue, Ownership } from './ownership.js';

it.each(['gce-east', '0000000001', 'a_b'])('keeps %s as the value of a label', (text) => {
  expect(labelValue(text)).toBe(text);
});

it.each(['GCE East', 'gce.east', '', 'x'.repeat(64), 'größe'])('makes a legal value of "%s"', (text) => {
  expect(labelValue(text)).toMatch(/^[a-z0-9_-]{1,63}$/);
});

it('makes different values of different names', () => {
  const names = ['GCE', 'gce', 'gce.east', 'gce_east', 'GCE_east', 'x'.repeat(64), 'x'.repeat(65)];

  expect(new Set(names.map(labelValue)).size).toBe(names.length);
});

it('knows its own by the label, and gives the names back as they were', () => {
  const ownership = new Ownership('GCE East', ['Main Pool']);
  const labels = {
    nodepool_provider_name: labelValue('GCE East'),
    nodepool_pool_name: labelValue('Main Pool'),
    nodepool_node_id: '0000000007',
  };

  expect(ownership.isOwn({ labels })).toBe(true);
  expect(ownership.isOwn({ labels: { ...labels, nodepool_provider_name: 'gce_east' } })).toBe(false);
  expect(ownership.isOwn({ labels: { nodepool_provider_name: labels.nodepool_provider_name } })).toBe(false);
  expect(ownership.isOwn({})).toBe(false);
  expect(ownership.tagsOf(labels)).toEqual({
    nodepool_provider_name: 'GCE East',
    nodepool_pool_name: 'Main Pool',
    nodepool_node_id: '0000000007',
  });
});
