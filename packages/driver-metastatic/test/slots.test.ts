import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import { startWorld, yamlOf } from './harness.js';
import type { World } from './harness.js';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.stop());

describe('a request for a slot', () => {
  it('gets a backing node, takes it over and makes the slot ready', async () => {
    await world.launcher(yamlOf({ pool: 'node-attributes: {zone: west}' }));
    const client = await world.client();

    const [slot] = await client.use(await client.ask(['small']));

    const [backing] = client.backing();
    expect(backing).toMatchObject({ state: 'in-use', labels: ['big'], requestor: 'NodePool:metastatic:meta' });
    const holder = await ZkLock.lockHolder(client.zk, nodeLockPath(backing?.id ?? slot?.id ?? ('' as never)));
    expect(holder?.identifier).toBe('NodePool:metastatic:meta');
    expect(slot).toMatchObject({
      state: 'ready',
      provider: 'meta',
      pool: 'main',
      externalId: slot?.id,
      slot: 0,
      interfaceIp: backing?.interfaceIp,
      username: 'root',
      connectionType: 'ssh',
      imageId: 'unused',
      hostId: null,
      attributes: { zone: 'west', rack: 'r1' },
      resources: { instances: 1, cores: 0, ram: 0 },
      driverData: {
        metadata: {
          nodepool_node_id: slot?.id,
          nodepool_pool_name: 'main',
          nodepool_provider_name: 'meta',
        },
        backing_node: backing?.id,
        slot: 0,
        node: slot?.id,
      },
    });
    expect(backing?.userData).toMatch(
      /^\{"owner": "NodePool:metastatic:meta", "label": "small", "slots": 4, "failed": false, "launched": [\d.]+, "nodes": \{"0": "\d{10}"\}\}$/,
    );
    expect(client.backingRequests()).toEqual([]);
  });

  it('fills one backing node before another is asked for', async () => {
    await world.launcher(yamlOf({}));
    const client = await world.client();

    const ids = await Promise.all(Array.from({ length: 6 }, () => client.ask(['small'])));
    const slots = (await Promise.all(ids.map((id) => client.use(id)))).flat();

    expect(client.backing()).toHaveLength(2);
    const places = slots.map((node) =>
      JSON.stringify(node.driverData).replace(/.*backing_node":"(\d+)","slot":(\d).*/, '$1/$2'),
    );
    expect(new Set(places).size).toBe(6);
  });
});
