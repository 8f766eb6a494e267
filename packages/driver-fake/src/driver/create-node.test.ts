import { describe, expect, it } from 'vitest';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { DATABASE_ID, useWorld } from '../../test/world.js';

const setUp = useWorld();

describe('a launch', () => {
  it('makes an instance that carries the tags of the node', async () => {
    const world = await setUp({ changes: { cloud: 'sky', 'region-name': 'north' } });
    const { cloud } = world;

    const { node, state } = await world.during(world.launch());

    expect(state).toBe('ready');
    expect(node).toMatchObject({
      state: 'ready',
      interfaceIp: 'np0000000001.fake',
      cloud: 'sky',
      region: 'north',
      username: 'zuul',
      resources: { instances: 1, cores: 1, ram: 2048 },
    });
    expect([...cloud.list()]).toMatchObject([
      {
        id: node.externalId,
        name: 'np0000000001',
        flavor: 'small',
        metadata: {
          groups: 'provider,debian,small',
          nodepool_node_id: '0000000001',
          nodepool_pool_name: 'main',
          nodepool_provider_name: 'provider',
        },
      },
    ]);
  });

  it('takes no time in an instant cloud, nor does its deletion', async () => {
    const world = await setUp();
    const { clock, cloud } = world;
    const startedMs = clock.now();

    const { node } = await world.launch();
    await world.cleanUp(node);

    expect(clock.now()).toBe(startedMs);
    expect(cloud.usage.instances).toBe(0);
  });

  it('ends in the moment the instance runs, and its deletion in the moment it is gone', async () => {
    const world = await setUp({ settings: { 'create-time': 7, 'delete-time': 3 } });
    const { clock } = world;
    const moments: number[] = [];
    const startedMs = clock.now();

    const launched = world.launch().then((result) => (moments.push(clock.now() - startedMs), result));
    await clock.advance(10_000);
    const { node } = await launched;
    const deleted = world.cleanUp(node).then(() => moments.push(clock.now() - startedMs));
    await clock.advance(10_000);
    await deleted;

    expect(moments).toEqual([7_000, 13_000]);
  });

  it('is aborted at the quota of the cloud, and fails for lack of capacity', async () => {
    const world = await setUp({ settings: { quota: { instances: 1 } } });
    const { cloud } = world;

    const first = await world.during(world.launch());
    const second = await world.during(world.launch());
    cloud.set('quota.instances', -1);
    cloud.set('failures.capacity', 1);
    const third = await world.during(world.launch());

    expect([first.state, second.state, third.state]).toEqual(['ready', 'aborted', 'failed']);
    expect(isNodepoolError(second.error, 'NODEPOOL_QUOTA')).toBe(true);
    expect(isNodepoolError(third.error, 'NODEPOOL_CAPACITY')).toBe(true);
    expect(world.counted).toEqual(['ready', 'error.quota', ...Array<string>(3).fill('error.capacity')]);
    expect(cloud.usage.instances).toBe(1);
  });

  it('is tried again when the instance breaks, with the broken one deleted first', async () => {
    const world = await setUp({ settings: { 'create-time': 1, failures: { 'error-state': 1 } } });
    const { cloud } = world;

    const launched = world.launch();
    await world.clock.advance(500);
    cloud.set('failures', {});
    await world.clock.advance(1_000);
    const { state } = await world.during(launched);

    expect(state).toBe('ready');
    expect(world.counted).toEqual(['error.status', 'ready']);
    expect(cloud.usage.instances).toBe(1);
  });

  it('gives up on an instance that never becomes active', async () => {
    const settings = { 'create-time': 1, failures: { 'never-active': 1 } };
    const world = await setUp({ settings, changes: { 'launch-timeout': 30, 'launch-retries': 2 } });
    const { cloud } = world;

    const { state } = await world.during(world.launch());

    expect(state).toBe('failed');
    expect(world.counted).toEqual(['error.servercreatetimeout', 'error.servercreatetimeout']);
    expect(cloud.usage.instances).toBeLessThanOrEqual(1); // the instance of the last attempt is deleted with its node
  });

  it('finds its instance again when the answer was lost', async () => {
    const world = await setUp();
    const { cloud } = world;
    cloud.set('failures.connection-reset', 1);

    const { state } = await world.during(world.launch());

    expect(state).toBe('ready');
    expect(world.counted).toEqual(['ready']);
    expect(cloud.usage.instances).toBe(1);
  });

  it('does not take the instance of a former node of its number, of a database that was restored', async () => {
    const world = await setUp({ changes: { 'launch-retries': 1 } });
    const { cloud } = world;
    const tags = { nodepool_node_id: '0000000001', nodepool_provider_name: 'provider', nodepool_pool_name: 'main' };
    const former = { ...tags, nodepool_database_id: DATABASE_ID, nodepool_node_created: '1764331479123' };
    const { id } = cloud.leak({ metadata: former });
    cloud.set('failures.api-down', 1);

    const launched = world.launch();
    await world.clock.advance(10);
    cloud.set('failures.api-down', 0);
    const { node } = await world.during(launched);

    expect(node.externalId).not.toBe(id);
    expect(Array.from(cloud.list(), (one) => one.id)).toContain(id);
  });

  it('fails with its broken instance when the answer was lost', async () => {
    const failures = { 'connection-reset': 1, 'error-state': 1 };
    const world = await setUp({ settings: { failures }, changes: { 'launch-retries': 1 } });

    const { state, error } = await world.during(world.launch());

    expect(state).toBe('failed');
    expect(error?.message).toMatch(/is in status "error"/);
  });

  it('survives an API outage', async () => {
    const world = await setUp({ settings: { 'create-time': 5 }, changes: { 'launch-retries': 10 } });
    const { cloud, clock } = world;
    cloud.set('failures.api-down', 1);

    const launched = world.launch();
    await clock.advance(10_000);
    cloud.set('failures.api-down', 0);
    const { state } = await world.during(launched);

    expect(state).toBe('ready');
    expect(cloud.usage.instances).toBe(1);
  });
});
