import type { NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { carries, isOwn, labelValue, marksOf, mayDelete, objectName, selectorOf, tagsOf } from './ownership.js';

const tags = { nodepool_provider_name: 'my cluster', nodepool_node_id: '0000000007', nodepool_database_id: 'da7a' };
const NODE = { id: '0000000007' as NodeId, createdTimeMs: 1_764_331_500_000 };

describe('marks of objects', () => {
  it('keeps valid label values and shortens others to unique ones', () => {
    expect(labelValue('cluster-1.a_b')).toBe('cluster-1.a_b');
    expect(labelValue('my cluster')).toMatch(/^my-cluster-[0-9a-f]{8}$/);
    expect(labelValue('my-cluster')).not.toBe(labelValue('my cluster'));
    expect(labelValue('x'.repeat(200)).length).toBeLessThanOrEqual(63);
    expect(labelValue('ümläut')).toMatch(/^[A-Za-z0-9-]+$/);
    expect(labelValue('---')).toMatch(/^[0-9a-f]{8}$/);
  });

  it('makes names of pods of names of labels', () => {
    expect(objectName('pod-fedora')).toBe('pod-fedora');
    expect(objectName('Ubuntu_22.04')).toMatch(/^ubuntu-22-04-[0-9a-f]{8}$/);
    expect(objectName('x'.repeat(200)).length).toBeLessThanOrEqual(53);
  });

  it('keeps the exact tags in annotations', () => {
    const meta = marksOf(tags);

    expect(meta.labels['nodepool_provider_name']).toMatch(/^my-cluster-/);
    expect(tagsOf(meta)).toEqual(tags);
    expect(selectorOf('my cluster')).toBe(`nodepool_provider_name=${labelValue('my cluster')}`);
  });

  it('reads the labels of objects of the original', () => {
    const meta = { labels: { nodepool_provider_name: 'k8s', nodepool_node_id: '0000000001', app: 'x' } };

    expect(tagsOf(meta)).toEqual({ nodepool_provider_name: 'k8s', nodepool_node_id: '0000000001' });
    expect(isOwn(meta, 'k8s')).toBe(true);
    expect(isOwn(meta, 'other')).toBe(false);
    expect(isOwn({ labels: { nodepool_provider_name: 'k8s' } }, 'k8s')).toBe(false);
  });

  it('deletes nothing with a node that was made for another of its number, in a database that was restored', () => {
    const former = marksOf({ ...tags, nodepool_node_created: '1764331479123' });

    expect(mayDelete(former, 'my cluster', { ...NODE, createdTimeMs: 1_764_331_479_123 }, 'da7a')).toBe(true);
    expect(mayDelete(former, 'my cluster', NODE, 'da7a')).toBe(false);
  });

  it('deletes with a node only what was made for it by this database, or by the original', () => {
    const meta = marksOf(tags);

    expect(mayDelete(meta, 'my cluster', NODE, 'da7a')).toBe(true);
    expect(mayDelete(meta, 'my cluster', undefined, 'da7a')).toBe(true);
    expect(mayDelete(meta, 'my cluster', NODE, 'other')).toBe(false);
    expect(mayDelete(meta, 'my cluster', { ...NODE, id: '0000000008' as NodeId }, 'da7a')).toBe(false);
    expect(mayDelete({}, 'my cluster', NODE, 'da7a')).toBe(false);
    expect(mayDelete({}, 'my cluster', undefined, 'da7a')).toBe(false);
    const { nodepool_database_id: _id, ...original } = tags;
    expect(mayDelete(marksOf(original), 'my cluster', NODE, 'da7a')).toBe(true);
    expect(carries(tags, original)).toBe(true);
    expect(carries(original, tags)).toBe(false);
  });
});
