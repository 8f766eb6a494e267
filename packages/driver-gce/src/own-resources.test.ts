import { describe, expect, it } from 'vitest';
import type { JsonObject, NodeRecord } from '@nodepool/core';
import { useWorlds, type World, type WorldOptions } from '../test/world.js';

const start = useWorlds();
const NEVER = new AbortController().signal;
const A = 'us-central1-a';
const B = 'us-central1-b';
const warnings = ({ log }: World) => log.filter(({ level }) => level === 'warn').map(({ message }) => message);

/** A provider of both zones with a node in zone b, from when that was its only zone. */
async function startWithNodeInB(options: WorldOptions = {}) {
  const former = await start({ ...options, entry: { zone: B } });
  const { node } = await former.launch();
  const world = await start({ ...options, entry: { zone: [A, B], ...options.entry }, fake: former.fake, firstNode: 2 });
  world.nodes.set(node.id, node);
  return { world, node };
}

/** Adds an instance of another program. */
function insert({ fake }: World, zone: string, { name, labels }: { name: string; labels: JsonObject }): void {
  const machineType = `zones/${zone}/machineTypes/e2-standard-2`;
  fake.cloud.insert(zone, { name, labels, machineType, networkInterfaces: [{}], disks: [{ boot: true }] }, undefined);
}

describe('the resources of a provider', () => {
  it('finds an unlabelled instance of the Python implementation', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });

    await world.cleanUp(node);

    expect(world.fake.instances).toEqual([]);
  });

  it('excludes the instance of another database with the same node number', async () => {
    const former = await start();
    const { node: old } = await former.launch();
    const world = await start({ fake: former.fake, databaseId: 'f'.repeat(32) });

    const { state, node, error } = await world.launch();
    await world.cleanUp(node);

    expect([state, node.externalId, old.externalId]).toEqual(['failed', null, 'np0000000001']);
    expect(String(error)).toMatch(/"np0000000001" exists in us-central1-a and is not this provider's/);
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
  });

  it('excludes the instance of a former node of the number, in a database that was restored', async () => {
    const former = await start();
    await former.launch();
    const world = await start({ fake: former.fake });

    const { state, node, error } = await world.launch();
    await world.cleanUp({ ...node, externalId: 'np0000000001' }); // as stored by a launcher that died early

    expect([state, node.externalId]).toEqual(['failed', null]);
    expect(error).toMatchObject({ code: 'NODEPOOL_LAUNCH_STATUS' }); // the search for leaks ends it, and no operator has to
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
  });

  it('excludes an instance without a database id if the node has no record of it', async () => {
    const former = await start({ databaseId: undefined });
    await former.launch();
    const world = await start({ fake: former.fake });

    const { state, node } = await world.launch();
    await world.cleanUp({ ...node, externalId: 'np0000000001' }); // as stored by a launcher that died early
    await world.findLeaks();

    expect(state).toBe('failed');
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
    expect(world.provider.alienResources?.()).toMatchObject([{ id: 'np0000000001' }, { type: 'disk' }]);
  });

  it('excludes an instance of the same name in another zone', async () => {
    const world = await start({ entry: { zone: ['us-central1-a', 'us-central1-b'] } });
    const labels = { nodepool_provider_name: 'google', nodepool_node_id: '0000000001', nodepool_pool_name: 'main' };
    insert(world, 'us-central1-b', { name: 'np0000000001', labels });

    const { state, node } = await world.launch();
    await world.cleanUp(node);

    expect([state, node.az]).toEqual(['ready', 'us-central1-a']);
    expect(world.fake.instances.map(({ zone }) => zone)).toEqual(['us-central1-b']);
  });

  it('knows an unlabelled instance of the Python implementation, which no list shows, by its name', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });
    const adapter = world.adapter;

    const listed = await adapter.listInstances(NEVER);
    const before = await adapter.hasInstance?.(node, NEVER);
    for (const instance of world.fake.instances) world.fake.cloud.remove(instance);

    expect([listed, before, await adapter.hasInstance?.(node, NEVER)]).toEqual([[], true, false]);
  });

  it('shows stand-ins for the instances of nodes in a zone that does not answer', async () => {
    const { world, node } = await startWithNodeInB();
    world.fake.cloud.unreachable.add(B);

    const listed = await world.adapter.listInstances(NEVER);

    expect(listed).toMatchObject([{ externalId: node.externalId, deleted: false, status: 'its zone does not answer' }]);
    expect(listed[0]?.unusable).toBeUndefined();
  });

  describe('in a zone that was removed from the configuration', () => {
    const both = { entry: { zone: ['us-central1-a', 'us-central1-b'] } };

    /** A node in zone b, and a provider with only zone a. */
    async function startFormer(): Promise<{ world: World; node: NodeRecord }> {
      const former = await start(both);
      former.fake.cloud.exhausted.add('us-central1-a/e2-standard-2');
      const { node } = await former.launch();
      expect(node.az).toBe('us-central1-b');
      return { world: await start({ fake: former.fake }), node };
    }

    it('deletes an instance with its node', async () => {
      const { world, node } = await startFormer();

      await world.cleanUp(node);

      expect(world.fake.instances).toEqual([]);
    });

    it('deletes an unlabelled instance of the Python implementation with its node', async () => {
      const { world, node } = await startFormer();
      for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });

      await world.cleanUp(node);

      expect(world.fake.instances).toEqual([]);
    });

    it('finds a leaked instance', async () => {
      const { world } = await startFormer();

      await world.findLeaks();

      await expect.poll(() => world.fake.instances).toEqual([]);
    });
  });
});

describe('a zone that does not answer', () => {
  // Ends: ZoneSilent ZoneFails
  it('does not hide instances of other zones, and is logged once', async () => {
    const { world, node } = await startWithNodeInB();
    world.fake.cloud.unreachable.add(B);

    const { state } = await world.launch();
    await world.launch();

    expect(state).toBe('ready');
    expect(warnings(world)).toEqual(['Zone does not list its instances; deletions there wait until it does']);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'provider', name: 'google', type: 'ZoneSilent', severity: 'warning', evidence: { zones: B } },
    ]);
    world.fake.cloud.unreachable.clear();
    await world.cleanUp(node);
    expect(world.log.map(({ message }) => message)).toContain('Zone lists its instances again');
    expect(world.provider.conditions?.()).toEqual([]);
  });

  it('does not complete a deletion', async () => {
    const { world, node } = await startWithNodeInB({ cloud: { deleteMs: 50, waitMs: 0 } });
    await world.launch();
    const { fake } = world;
    fake.onCall = ({ method, params }) => {
      const isLook = fake.countOf('Instances.Delete') > 0 && method.name === 'Instances.List';
      if (isLook && params['zone'] === B) fake.cloud.unreachable.add(B);
    };

    await expect(world.cleanUp(node)).rejects.toThrow(/zone us-central1-b does not answer/);
    fake.onCall = () => undefined;
    fake.cloud.unreachable.clear();
    await world.cleanUp(node);

    expect(fake.instances.map(({ zone }) => zone)).toEqual([A]);
  });

  it('does not turn own usage into usage by others', async () => {
    const quotas = { INSTANCES: 10, CPUS: 20 };
    const { world } = await startWithNodeInB({ cloud: { quotas } });
    await world.launch();
    world.fake.cloud.unreachable.add(B);
    const asked = world.fake.countOf('Regions.Get');
    world.provider.quota?.invalidateQuotaCache();

    await expect.poll(() => world.fake.countOf('Regions.Get')).toBeGreaterThan(asked);
    await expect.poll(() => world.provider.quota?.estimatedNodepoolQuota()).toMatchObject({ instances: 10, CPUS: 20 });
  });

  it('does not stop the leak clean-up', async () => {
    const world = await start({ entry: { zone: [A, B] } });
    const { node } = await world.launch();
    const { node: leaked } = await world.launch();
    world.nodes.delete(leaked.id);
    world.fake.cloud.unreachable.add(B);

    await world.findLeaks();

    await expect.poll(() => world.fake.instances.map(({ name }) => name)).toEqual([node.externalId]);
  });
});
