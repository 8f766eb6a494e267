import { newNode, newRequest, withNode, type NodeId, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it, vi } from 'vitest';
import { Usage } from './usage.js';

const ID = '200-0000000001' as RequestId;
const need = { instances: 1, cores: 4 };

function request(labels: readonly string[]) {
  return { ...newRequest({ labels, tenantName: 't' }, 0), id: ID };
}

function nodeOf(fields: Partial<NodeRecord> = {}): NodeRecord {
  const node = newNode(
    { state: 'init', labels: ['a'], provider: 'p', pool: 'main', tenantName: 't', allocatedTo: ID, resources: need },
    0,
  );
  return { ...node, id: '7' as NodeId, ...fields };
}

function promised(labels: readonly string[]) {
  const usage = new Usage(() => need);
  const room = vi.fn();
  usage.onTenantCapacity(room);
  const settle = usage.promise(
    request(labels),
    labels.map((label) => ({ label, need })),
  );
  return { usage, settle, room };
}

describe('what a pool and its provider use', () => {
  const pool = (name: string, ...labels: string[]) => ({
    name,
    labels: new Map(labels.map((label) => [label, { name: label }])),
  });

  it('has no nodes in it of pools and labels that have left the configuration', () => {
    const usage = new Usage(() => need);
    usage.change(undefined, nodeOf({ id: '1' as NodeId, labels: ['a'] }));
    usage.change(undefined, nodeOf({ id: '2' as NodeId, labels: ['removed'] }));
    usage.change(undefined, nodeOf({ id: '3' as NodeId, labels: ['a'], pool: 'removed' }));

    expect(usage.ofPool('p', pool('main', 'a', 'b'))).toEqual(need);
    expect(usage.ofProvider('p', [pool('main', 'a', 'b'), pool('other', 'a')])).toEqual(need);
    expect(usage.ofProvider('p', [pool('main', 'a', 'removed'), pool('removed', 'a')])).toEqual({
      instances: 3,
      cores: 12,
    });
  });

  it('has a node in it until it is gone', () => {
    const usage = new Usage(() => need);
    usage.change(undefined, nodeOf());
    usage.change(nodeOf(), undefined);

    expect(usage.ofPool('p', pool('main', 'a'))).toEqual({ instances: 0, cores: 0 });
  });
});

describe('what a tenant uses', () => {
  it('has in it what an accepted request will get, and its nodes only once', () => {
    const { usage, settle, room } = promised(['a', 'b']);
    expect(usage.ofTenant('t')).toEqual({ instances: 2, cores: 8 });

    usage.change(undefined, nodeOf());
    expect(usage.ofTenant('t')).toEqual({ instances: 2, cores: 8 });
    expect(room).not.toHaveBeenCalled();

    settle();
    expect(usage.ofTenant('t')).toEqual(need);
    expect(room).toHaveBeenCalledOnce();
  });

  it('has a node in it that was lost and another that takes its place', () => {
    const { usage } = promised(['a']);
    const building = nodeOf({ state: 'building' });
    usage.change(undefined, building);
    const aborted = withNode(building, { state: 'aborted' }, 1);

    usage.change(building, aborted);
    expect(usage.ofTenant('t')).toEqual({ instances: 2, cores: 8 });

    usage.change(aborted, undefined);
    expect(usage.ofTenant('t')).toEqual(need);
  });

  it('counts a request once that two pools try to have', () => {
    const { usage, settle } = promised(['a']);
    const settleOther = usage.promise(request(['a']), [{ label: 'a', need }]);
    expect(usage.ofTenant('t')).toEqual(need);

    settleOther();
    expect(usage.ofTenant('t')).toEqual(need);

    settle();
    expect(usage.ofTenant('t')).toEqual({ instances: 0, cores: 0 });
  });

  it('has free nodes in it that carry its name: other launchers leave it on nodes of withdrawn requests', () => {
    const { usage, settle, room } = promised(['a']);
    const used = nodeOf({ state: 'ready' });
    usage.change(undefined, used);
    settle();
    const free = withNode(used, { allocatedTo: null }, 1);

    usage.change(used, free);
    expect(usage.ofTenant('t')).toEqual(need);
    expect(room).not.toHaveBeenCalled();

    usage.change(free, withNode(free, { tenantName: null }, 1));
    expect(usage.ofTenant('t')).toEqual({ instances: 0, cores: 0 });
    expect(room).toHaveBeenCalledOnce();
  });

  it('has nodes in it that say nothing of their resources, as the hosts of a rack', () => {
    const usage = new Usage(() => ({ instances: 1 }));

    usage.change(undefined, nodeOf({ resources: null }));

    expect(usage.ofTenant('t')).toEqual({ instances: 1 });
  });
});
