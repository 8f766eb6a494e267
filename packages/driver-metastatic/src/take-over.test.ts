import { describe, expect, it } from 'vitest';
import type { Driver, Provider, ProviderContext } from '@nodepool/core';
import { registryOf } from '@nodepool/core/testing';
import { driver as staticDriver } from '@nodepool/driver-static';
import { delay, nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import type { Clock, NodeRecord } from '@nodepool/zk-protocol';
import { virtualBackend } from '../test/backend.js';
import { startWorld, userDataOf, useWorld, yamlOf } from '../test/world.js';
import { driver } from './index.js';

const world = useWorld();

describe('the node of a fulfilled backing request', () => {
  it('becomes a backing node with a ready slot', async () => {
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

  it('has the age of its request, however long that took', async () => {
    await world.launcher(yamlOf({ hosts: 1, label: 'grace-time: 600' }));
    const client = await world.client();
    const [host] = await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    const asked = await client.until('a backing node is asked for', () => client.backingRequests()[0]);

    await client.giveBack((host as NodeRecord).id);
    const [slot] = await client.use(id);

    const place = slot?.driverData as { backing_node: string };
    const launched = Number(/"launched": ([\d.]+)/.exec(userDataOf(client, place.backing_node))?.[1]);
    expect(Math.abs(launched * 1000 - (asked.stat?.ctime ?? 0))).toBeLessThan(100);
  });

  it.each([300_000, -300_000])('has it under a leader whose clock is %i ms ahead, too', async (leaderMs) => {
    const backend = virtualBackend();
    const virtual = await startWorld(backend);
    await virtual.launcher(yamlOf({ hosts: 1, label: 'grace-time: 600' }));
    const client = await virtual.client();
    const [host] = await client.use(await client.ask(['big']));
    backend.lead(leaderMs);
    await delay(backend.clock, 30_000); // all connect again
    const id = await client.ask(['small']);
    const asked = await client.until('a backing node is asked for', () => client.backingRequests()[0]);
    await delay(backend.clock, 120_000);

    await client.giveBack((host as NodeRecord).id);
    const [slot] = await client.use(id);

    const place = slot?.driverData as { backing_node: string };
    const launched = Number(/"launched": ([\d.]+)/.exec(userDataOf(client, place.backing_node))?.[1]);
    expect(Math.abs(launched * 1000 - ((asked.stat?.ctime ?? 0) - leaderMs))).toBeLessThan(20_000);
    await virtual.stop();
  });
});

it('leaves no timer if the provider stops between two attempts', async () => {
  const timers = new Set<() => void>();
  let attempted = () => {};
  const attempt = new Promise<void>((resolve) => (attempted = resolve));
  let provider: Provider | undefined;
  const failing: Driver = {
    ...driver,
    getProvider: (config, context) => {
      const committer: ProviderContext['committer'] = {
        commit: (operations) => {
          const isTakeOver = operations.some(({ op, path }) => op === 'create' && path.includes('/lock'));
          if (!isTakeOver) return context.committer.commit(operations);
          attempted();
          return Promise.reject(new Error('out of order'));
        },
      };
      return (provider = driver.getProvider(config, {
        ...context,
        clock: countTimers(context.clock, timers),
        committer,
      }));
    },
  };
  await world.launcher(yamlOf({ hosts: 1 }), { registry: registryOf(staticDriver, failing) });
  const client = await world.client();
  const request = await client.ask(['small']);
  await attempt;
  await client.zk.delete(`/nodepool/requests/${request}`);
  await client.until('the launch is over', () => client.slots().length === 0);

  provider?.stop();
  await provider?.join();

  expect(timers.size).toBe(0);
});

/** A clock that records its pending timers. */
function countTimers(clock: Clock, timers: Set<() => void>): Clock {
  return {
    now: () => clock.now(),
    setTimer: (ms, fn) => {
      const cancel = clock.setTimer(ms, () => {
        timers.delete(cancel);
        fn();
      });
      timers.add(cancel);
      return () => {
        timers.delete(cancel);
        cancel();
      };
    },
  };
}
