import { describe, expect, it } from 'vitest';
import { DATABASE_ID, useWorlds, type World } from '../test/world.js';
import type { JsonObject } from '@nodepool/core';

const start = useWorlds();
const A = 'us-central1-a';
const B = 'us-central1-b';
const warnings = ({ log }: World) => log.filter(({ level }) => level === 'warn').map(({ message }) => message);

/** Adds an instance of another program. */
function insert({ fake }: World, zone: string, { name, labels }: { name: string; labels: JsonObject }): void {
  const machineType = `zones/${zone}/machineTypes/e2-standard-2`;
  fake.cloud.insert(zone, { name, labels, machineType, networkInterfaces: [{}], disks: [{ boot: true }] }, undefined);
}

describe('the leak clean-up', () => {
  it('deletes instances and disks that two lists show', async () => {
    const world = await start();
    const { node } = await world.launch();
    const { node: other } = await world.launch();
    world.fake.cloud.state.disks.set('us-central1-a/np0000000002-data', {
      ...{ zone: 'us-central1-a', name: 'np0000000002-data', sizeGib: 10, type: 'pd-ssd', user: undefined },
      labels: {
        nodepool_provider_name: 'google',
        nodepool_node_id: '0000000002',
        nodepool_pool_name: 'main',
        nodepool_database_id: DATABASE_ID,
      },
    });
    world.nodes.delete(other.id);

    await world.findLeaks();

    await expect.poll(() => world.fake.instances.map(({ name }) => name)).toEqual([node.externalId]);
    const disks = world.fake.cloud.state.disks;
    await expect
      .poll(() => Array.from(disks.values(), ({ user }) => user?.split('/').at(-1)))
      .toEqual([node.externalId]);
    expect(world.counted).toEqual(expect.arrayContaining(['leaked instances', 'leaked disks']));
  });

  it('deletes a stopped instance', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) instance.status = 'TERMINATED';
    world.nodes.delete(node.id);

    await world.findLeaks();

    await expect.poll(() => world.fake.instances).toEqual([]);
  });

  it.each([false, true])('never deletes resources of others, even if the API ignores filters: %s', async (ignored) => {
    const world = await start();
    const { node } = await world.launch();
    world.fake.ignoresFilters = ignored;
    const foreign = (name: string, labels: Record<string, string>) => {
      const params = { diskSizeGb: '10', labels };
      world.fake.cloud.insert(
        'us-central1-a',
        {
          ...{ name, labels, machineType: 'zones/us-central1-a/machineTypes/e2-standard-2', networkInterfaces: [{}] },
          disks: [{ boot: true, initializeParams: params }],
        },
        undefined,
      );
      world.fake.cloud.state.disks.set(`us-central1-a/${name}-free`, {
        ...{ zone: 'us-central1-a', name: `${name}-free`, sizeGib: 10, type: 'pd-ssd', user: undefined, labels },
      });
    };
    foreign('np0000000009', {});
    foreign('np0000000010', { nodepool_node_id: '0000000010', nodepool_provider_name: 'another' });
    foreign('database', { nodepool_provider_name: 'google' });

    await world.findLeaks();
    await world.findLeaks();
    await world.cleanUp(node);

    expect(world.fake.instances.map(({ name }) => name)).toEqual(['np0000000009', 'np0000000010', 'database']);
    expect(world.fake.cloud.state.disks.size).toBe(6);
    expect(world.fake.countOf('Instances.Delete')).toBe(1);
    expect(world.fake.countOf('Disks.Delete')).toBe(0);
  });

  it('deletes only its own of two instances with the same name', async () => {
    const world = await start({ entry: { zone: ['us-central1-a', 'us-central1-b'] } });
    const labels = { nodepool_provider_name: 'google', nodepool_node_id: '0000000099', nodepool_pool_name: 'main' };
    const theirs = { ...labels, nodepool_database_id: 'f'.repeat(32) };
    insert(world, 'us-central1-a', { name: 'np0000000099', labels: { ...labels, nodepool_database_id: DATABASE_ID } });
    insert(world, 'us-central1-b', { name: 'np0000000099', labels: theirs });

    await world.findLeaks();
    await world.findLeaks();

    await expect.poll(() => world.fake.instances.map(({ zone }) => zone)).toEqual(['us-central1-b']);
    expect(world.fake.instances[0]?.shown['labels']).toMatchObject(theirs);
  });

  it('tags resources of a version without database ids', async () => {
    const former = await start({ databaseId: undefined });
    const { node } = await former.launch();
    const world = await start({ fake: former.fake });
    world.nodes.set(node.id, node);

    await world.findLeaks();

    const [instance] = world.fake.instances;
    const marks = { nodepool_node_id: node.id, nodepool_provider_name: 'google', nodepool_database_id: DATABASE_ID };
    expect(instance?.shown['labels']).toMatchObject({ ...marks, nodepool_attempt: expect.any(String) as string });
    expect([...world.fake.cloud.state.disks.values()].map(({ labels }) => labels)).toMatchObject([marks]);
    expect(world.provider.alienResources?.()).toEqual([]);
    await world.cleanUp(node);
    expect(world.fake.instances).toEqual([]);
  });

  it('finds instances if disks cannot be listed', async () => {
    const world = await start({ entry: { zone: [A, B] } });
    const { node } = await world.launch();
    world.nodes.delete(node.id);
    world.fake.onCall = ({ method }) => {
      if (method.name === 'Disks.AggregatedList') world.fake.failures.queue('unavailable');
    };

    await world.findLeaks();

    await expect.poll(() => world.fake.instances).toEqual([]);
    expect(warnings(world)).toContain('Listing leaked resources of one kind failed');
    world.fake.onCall = () => undefined;
  });
});
