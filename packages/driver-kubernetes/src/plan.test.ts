import { newNode, newRequest, type NodeId, type RequestId } from '@nodepool/zk-protocol';
import { silentLogger, type CreateOrder } from '@nodepool/core';
import { describe, expect, it } from 'vitest';
import { configOf } from '../test/labels.js';
import type { DriverName, KubernetesLabelConfig, KubernetesPoolConfig } from './config.js';
import { placeOf, planOf } from './plan.js';

const metadata = { nodepool_provider_name: 'cluster', nodepool_node_id: '0000000007', nodepool_pool_name: 'main' };

function orderOf(driver: DriverName, keys: object) {
  const labels = [{ name: 'Fedora_40', image: 'fedora', ...keys }];
  const { config } = configOf({}, { labels }, driver);
  const pool = config.pools.get('main');
  const label = pool?.labels.get('Fedora_40');
  if (!pool || !label) throw new Error('the label was not read');
  const node = { ...newNode({ state: 'building' }, 0), id: '0000000007' as NodeId };
  const request = { ...newRequest({ labels: ['Fedora_40'] }, 0), id: '1-0000000001' as RequestId };
  const order: CreateOrder<KubernetesLabelConfig, KubernetesPoolConfig> = {
    ...{ hostname: 'np', label, pool, metadata, node, request, az: null, attempt: 1, logger: silentLogger },
    imageExternalId: undefined,
  };
  return { config, order };
}

describe('the plan of a node', () => {
  it('is a namespace of its own, with the names of the original', () => {
    const { config, order } = orderOf('kubernetes', { type: 'pod', labels: { team: 'a', nodepool_node_id: 'forged' } });

    const plan = planOf(config, order, 'attempt-1');

    expect(plan).toMatchObject({ externalId: 'main-0000000007', namespace: 'main-0000000007' });
    expect(plan.pod?.name).toMatch(/^fedora-40-[0-9a-f]{8}$/);
    expect(plan.namespaceBody?.['metadata']).toMatchObject({
      labels: { ...metadata, team: 'a', nodepool_node_label: 'Fedora_40' },
      annotations: { ...metadata, nodepool_attempt: 'attempt-1' },
    });
    expect(plan.access?.role).toMatchObject({ metadata: { name: 'zuul-restricted' } });
  });

  it('is a pod in the namespace of the pool', () => {
    const { config, order } = orderOf('openshiftpods', {});

    const plan = planOf(config, order, 'attempt-1');

    expect(plan).toMatchObject({ namespace: 'main', namespaceBody: undefined, access: undefined });
    expect(plan.externalId).toBe(`main-${plan.pod?.name ?? ''}`);
    expect(plan.pod?.name).toMatch(/-0000000007$/);
    expect(placeOf(config, plan.externalId, undefined)).toEqual({ namespace: 'main', pod: plan.pod?.name });
  });

  it('is found by its id, in the longest namespace that fits', () => {
    const pools = new Map([['a', {}], ['a-b', {}]]) as never; // prettier-ignore

    expect(placeOf({ ownNamespaces: false, pools }, 'a-b-x-0000000001', undefined).namespace).toBe('a-b');
    expect(placeOf({ ownNamespaces: false, pools }, 'gone-x-0000000001', 'gone')).toEqual({
      ...{ namespace: 'gone', pod: 'x-0000000001' },
    });
    expect(placeOf({ ownNamespaces: true, pools }, 'a-0000000001', 'a')).toEqual({
      namespace: 'a-0000000001',
      pod: undefined,
    });
  });
});
