import { afterEach, describe, expect, it } from 'vitest';
import { isNodepoolError, type NodeRecord } from '@nodepool/zk-protocol';
import { DATABASE_ID, ProviderHarness, type BenchOptions } from './provider-harness.js';

let running: ProviderHarness | undefined;

async function setUp(options: BenchOptions = {}): Promise<ProviderHarness> {
  running = new ProviderHarness(options);
  await running.start();
  return running;
}

function idOf({ externalId }: NodeRecord): string {
  if (typeof externalId !== 'string') throw new Error('the node has no instance');
  return externalId;
}

afterEach(async () => {
  await running?.end();
  expect(running?.clock.pendingTimers ?? 0).toBe(0);
  running = undefined;
});

describe('a launch', () => {
  it('makes an instance that carries the tags of the node', async () => {
    const harness = await setUp({ changes: { cloud: 'sky', 'region-name': 'north' } });
    const { cloud } = harness;

    const { node, state } = await harness.during(harness.launch());

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
    const harness = await setUp();
    const { clock, cloud } = harness;
    const startedMs = clock.now();

    const { node } = await harness.launch();
    await harness.cleanUp(node);

    expect(clock.now()).toBe(startedMs);
    expect(cloud.usage.instances).toBe(0);
  });

  it('ends in the moment the instance runs, and its deletion in the moment it is gone', async () => {
    const harness = await setUp({ settings: { 'create-time': 7, 'delete-time': 3 } });
    const { clock } = harness;
    const moments: number[] = [];
    const startedMs = clock.now();

    const launched = harness.launch().then((result) => (moments.push(clock.now() - startedMs), result));
    await clock.advance(10_000);
    const { node } = await launched;
    const deleted = harness.cleanUp(node).then(() => moments.push(clock.now() - startedMs));
    await clock.advance(10_000);
    await deleted;

    expect(moments).toEqual([7_000, 13_000]);
  });

  it('is aborted at the quota of the cloud, and fails for lack of capacity', async () => {
    const harness = await setUp({ settings: { quota: { instances: 1 } } });
    const { cloud } = harness;

    const first = await harness.during(harness.launch());
    const second = await harness.during(harness.launch());
    cloud.set('quota.instances', -1);
    cloud.set('failures.capacity', 1);
    const third = await harness.during(harness.launch());

    expect([first.state, second.state, third.state]).toEqual(['ready', 'aborted', 'failed']);
    expect(isNodepoolError(second.error, 'NODEPOOL_QUOTA')).toBe(true);
    expect(isNodepoolError(third.error, 'NODEPOOL_CAPACITY')).toBe(true);
    expect(harness.counted).toEqual(['ready', 'error.quota', ...Array<string>(3).fill('error.capacity')]);
    expect(cloud.usage.instances).toBe(1);
  });

  it('is tried again when the instance breaks, with the broken one deleted first', async () => {
    const harness = await setUp({ settings: { 'create-time': 1, failures: { 'error-state': 1 } } });
    const { cloud } = harness;

    const launched = harness.launch();
    await harness.clock.advance(500);
    cloud.set('failures', {});
    await harness.clock.advance(1_000);
    const { state } = await harness.during(launched);

    expect(state).toBe('ready');
    expect(harness.counted).toEqual(['error.status', 'ready']);
    expect(cloud.usage.instances).toBe(1);
  });

  it('gives up an instance that never becomes active', async () => {
    const settings = { 'create-time': 1, failures: { 'never-active': 1 } };
    const harness = await setUp({ settings, changes: { 'launch-timeout': 30, 'launch-retries': 2 } });
    const { cloud } = harness;

    const { state } = await harness.during(harness.launch());

    expect(state).toBe('failed');
    expect(harness.counted).toEqual(['error.servercreatetimeout', 'error.servercreatetimeout']);
    expect(cloud.usage.instances).toBeLessThanOrEqual(1); // the last attempt's is deleted with its node
  });

  it('finds its instance again when the answer was lost', async () => {
    const harness = await setUp();
    const { cloud } = harness;
    cloud.set('failures.connection-reset', 1);

    const { state } = await harness.during(harness.launch());

    expect(state).toBe('ready');
    expect(harness.counted).toEqual(['ready']);
    expect(cloud.usage.instances).toBe(1);
  });

  it('waits out an API that is down for a while', async () => {
    const harness = await setUp({ settings: { 'create-time': 5 }, changes: { 'launch-retries': 10 } });
    const { cloud, clock } = harness;
    cloud.set('failures.api-down', 1);

    const launched = harness.launch();
    await clock.advance(10_000);
    cloud.set('failures.api-down', 0);
    const { state } = await harness.during(launched);

    expect(state).toBe('ready');
    expect(cloud.usage.instances).toBe(1);
  });
});

describe('a deletion', () => {
  it('of what is gone already is done', async () => {
    const harness = await setUp();
    const { cloud } = harness;
    const { node } = await harness.launch();
    cloud.kill(idOf(node));

    await harness.cleanUp(node);

    expect(cloud.usage.instances).toBe(0);
  });

  it('fails when the cloud refuses it, and can be repeated', async () => {
    const harness = await setUp();
    const { cloud } = harness;
    const { node } = await harness.launch();
    cloud.set('failures.delete-error', 1);

    const refused = await harness.cleanUp(node).catch((error: unknown) => error);
    cloud.set('failures.delete-error', 0);
    await harness.cleanUp(node);

    expect(isNodepoolError(refused)).toBe(true);
    expect(cloud.usage.instances).toBe(0);
  });

  it('ends at once when the instance vanishes meanwhile', async () => {
    const harness = await setUp({ settings: { 'delete-time': 600 } });
    const { cloud, clock } = harness;
    const { node } = await harness.launch();
    const startedMs = clock.now();

    const deleted = harness.cleanUp(node).then(() => clock.now() - startedMs);
    await clock.advance(1_000);
    cloud.kill(idOf(node));
    await clock.advance(0);

    expect(await deleted).toBe(1_000);
  });
});

describe('a cloud that lies', () => {
  it('leaves nothing behind when it makes two instances for one node', async () => {
    const harness = await setUp({ settings: { failures: { duplicate: 1 } } });
    const { cloud } = harness;

    const { node } = await harness.during(harness.launch());
    await harness.findLeaks();
    const whileKnown = [...cloud.list()].map(({ id }) => id);
    await harness.during(harness.cleanUp(node));
    await harness.findLeaks();

    expect(whileKnown).toEqual([node.externalId]); // that of the record; the other has none
    expect(cloud.usage.instances).toBe(0);
    expect(harness.counted).toContain('leaked instances');
  });

  it('leaves nothing behind when an instance is not shown while its node is deleted, and comes back', async () => {
    const harness = await setUp();
    const { cloud, clock } = harness;
    const { node } = await harness.launch();
    cloud.hide(idOf(node), 30_000);

    await harness.during(harness.cleanUp(node));
    await clock.advance(60_000);
    const back = cloud.usage.instances;
    await harness.findLeaks();

    expect(back).toBe(1);
    expect(cloud.usage.instances).toBe(0);
  });

  it('leaves nothing behind when deleted instances come back', async () => {
    const harness = await setUp({ settings: { failures: { resurrect: 0.5 }, 'hide-time': 10 } });
    const { cloud, clock } = harness;

    for (let round = 0; round < 20; round++) {
      const { node } = await harness.during(harness.launch());
      await harness.during(harness.cleanUp(node));
    }
    for (let round = 0; round < 20; round++) {
      await clock.advance(60_000);
      await harness.findLeaks();
    }

    expect(cloud.usage.instances).toBe(0);
  });

  it('is never believed about instances of others', async () => {
    const harness = await setUp();
    const { cloud } = harness;
    cloud.leak();
    cloud.leak({ metadata: { nodepool_provider_name: 'another', nodepool_node_id: '0000000007' } });
    const named = { nodepool_provider_name: 'provider', nodepool_node_id: '0000000007' };
    const ours = cloud.leak({ metadata: { ...named, nodepool_database_id: DATABASE_ID } });
    cloud.leak({ metadata: named });
    cloud.leak({ metadata: { ...named, nodepool_database_id: 'f'.repeat(32) } });

    await harness.findLeaks();

    expect([...cloud.list()].map(({ metadata }) => metadata['nodepool_provider_name'])).toEqual([
      undefined,
      'another',
      'provider',
      'provider',
    ]);
    expect([...cloud.list()].map(({ id }) => id)).not.toContain(ours.id);
  });

  it('settles in the end, whatever it does', async () => {
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
    const harness = await setUp({ settings: { ...settings, failures: {} }, seed: 42 });
    const { cloud, clock } = harness;
    cloud.set('failures', failures);

    for (let round = 0; round < 10; round++) {
      const results = await harness.during(Promise.all(Array.from({ length: 10 }, () => harness.launch())));
      const deletions = results.map(async ({ node }) => {
        for (;;) {
          const failed = await harness.cleanUp(node).then(
            () => false,
            () => true,
          );
          if (!failed) return;
        }
      });
      await harness.during(Promise.all(deletions));
    }
    cloud.set('failures', {});
    for (let round = 0; round < 3; round++) {
      await clock.advance(60_000);
      await harness.findLeaks();
    }

    expect(harness.nodes.size).toBe(0);
    expect(cloud.usage.instances).toBe(0);
  });
});

describe('quota', () => {
  it('is what the cloud allows, less what others use', async () => {
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
