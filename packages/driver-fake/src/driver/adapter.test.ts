import { describe, expect, it } from 'vitest';
import { DATABASE_ID, idOf, useWorld } from '../../test/world.js';

const setUp = useWorld();

describe('an unreliable cloud', () => {
  it('leaves nothing behind when it makes two instances for one node', async () => {
    const world = await setUp({ settings: { failures: { duplicate: 1 } } });
    const { cloud } = world;

    const { node } = await world.during(world.launch());
    await world.findLeaks();
    const whileKnown = [...cloud.list()].map(({ id }) => id);
    await world.during(world.cleanUp(node));
    await world.findLeaks();

    expect(whileKnown).toEqual([node.externalId]); // the instance of the record; the other has none
    expect(cloud.usage.instances).toBe(0);
    expect(world.counted).toContain('leaked instances');
  });

  it('leaves nothing behind when an instance is not shown while its node is deleted, and comes back', async () => {
    const world = await setUp();
    const { cloud, clock } = world;
    const { node } = await world.launch();
    cloud.hide(idOf(node), 30_000);

    await world.during(world.cleanUp(node));
    await clock.advance(60_000);
    const back = cloud.usage.instances;
    await world.findLeaks();

    expect(back).toBe(1);
    expect(cloud.usage.instances).toBe(0);
  });

  it('leaves nothing behind when deleted instances come back', async () => {
    const world = await setUp({ settings: { failures: { resurrect: 0.5 }, 'hide-time': 10 } });
    const { cloud, clock } = world;

    for (let round = 0; round < 20; round++) {
      const { node } = await world.during(world.launch());
      await world.during(world.cleanUp(node));
    }
    for (let round = 0; round < 20; round++) {
      await clock.advance(60_000);
      await world.findLeaks();
    }

    expect(cloud.usage.instances).toBe(0);
  });

  it('never makes the launcher delete instances of other users', async () => {
    const world = await setUp();
    const { cloud } = world;
    cloud.leak();
    cloud.leak({ metadata: { nodepool_provider_name: 'another', nodepool_node_id: '0000000007' } });
    const named = { nodepool_provider_name: 'provider', nodepool_node_id: '0000000007' };
    const ours = cloud.leak({ metadata: { ...named, nodepool_database_id: DATABASE_ID } });
    cloud.leak({ metadata: named });
    cloud.leak({ metadata: { ...named, nodepool_database_id: 'f'.repeat(32) } });

    await world.findLeaks();

    expect([...cloud.list()].map(({ metadata }) => metadata['nodepool_provider_name'])).toEqual([
      undefined,
      'another',
      'provider',
      'provider',
    ]);
    expect([...cloud.list()].map(({ id }) => id)).not.toContain(ours.id);
  });

  it('leaves nothing behind after any mix of failures', async () => {
    const failures = {
      ...{ 'error-state': 0.1, 'api-down': 0.1, 'rate-limited': 0.05, 'connection-reset': 0.2, 'delete-error': 0.1 },
      ...{ duplicate: 0.1, vanish: 0.1, hide: 0.1, resurrect: 0.1, capacity: 0.1 },
    };
    const settings = {
      'create-time': { exponential: 2 },
      'delete-time': { uniform: [0, 3] },
      'vanish-time': 1,
      failures,
    };
    const world = await setUp({ settings: { ...settings, failures: {} }, seed: 42 });
    const { cloud, clock } = world;
    cloud.set('failures', failures);

    for (let round = 0; round < 10; round++) {
      const results = await world.during(Promise.all(Array.from({ length: 10 }, () => world.launch())));
      const deletions = results.map(async ({ node }) => {
        for (;;) {
          const failed = await world.cleanUp(node).then(
            () => false,
            () => true,
          );
          if (!failed) return;
        }
      });
      await world.during(Promise.all(deletions));
    }
    cloud.set('failures', {});
    for (let round = 0; round < 3; round++) {
      await clock.advance(60_000);
      await world.findLeaks();
    }

    expect(world.nodes.size).toBe(0);
    expect(cloud.usage.instances).toBe(0);
  });
});

describe('quota', () => {
  it('is the limit of the cloud minus the use by other users', async () => {
    const { cloud, clock, provider } = await setUp({ settings: { quota: { instances: 10, cores: 20 } } });
    await clock.advance(1_000);
    const before = provider.quota?.estimatedNodepoolQuota();
    cloud.leak({ minRam: 4096 });

    provider.quota?.invalidateQuotaCache();
    await clock.advance(1_000);

    expect(before).toMatchObject({ instances: 10, cores: 20 });
    expect(provider.quota?.estimatedNodepoolQuota()).toMatchObject({ instances: 9, cores: 18 });
    const pool = provider.config.pools.get('main');
    expect(pool && provider.quota?.quotaNeededByLabel('small', pool)).toEqual({ instances: 1, cores: 1, ram: 2048 });
  });

  it('makes a label an error label when no flavor fits it', async () => {
    const { clock, provider } = await setUp({ settings: { flavors: [{ name: 'tiny', ram: 512, cores: 1 }] } });

    await clock.advance(1_000);

    expect([...provider.errorLabels()]).toEqual(['small']);
  });
});
