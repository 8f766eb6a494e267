import { afterEach, describe, expect, it } from 'vitest';
import type { ProviderContext } from '../../contract/driver.js';
import { ConfigError, ProviderUnavailableError } from '../../contract/errors.js';
import { DATABASE_ID_TAG, NODE_ID_TAG, PROVIDER_TAG } from '../../contract/instance.js';
import { DATABASE_ID, LaunchWorld, providerConfig } from '../../../test/support/launch-world.js';
import { MemoryCloud, type CloudBehaviour } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import type { StateMachineProvider } from './provider.js';
import type { Adapter, StateMachineProviderConfig } from './types.js';

interface Setting {
  cloud?: CloudBehaviour;
  features?: { single?: boolean; push?: boolean };
  adapter?: Partial<Adapter>;
  config?: Partial<StateMachineProviderConfig>;
  label?: object;
  pool?: object;
  context?: Partial<ProviderContext>;
}

const SIGNAL = new AbortController().signal;
let bench: LaunchWorld | undefined;
let clock: VirtualClock | undefined;

async function setUp(setting: Setting = {}) {
  clock = new VirtualClock();
  const cloud = new MemoryCloud(clock, setting.cloud);
  const config = providerConfig(setting.config, setting.label, setting.pool);
  bench = new LaunchWorld(clock, cloud.adapter(setting.features, setting.adapter), config, setting.context);
  await bench.provider.start(SIGNAL);
  await clock.settle();
  return { clock, cloud, bench, provider: bench.provider, main: config.pools.get('main') };
}

const ours = (nodeId: string) => ({
  [NODE_ID_TAG]: nodeId,
  [PROVIDER_TAG]: 'cloud',
  [DATABASE_ID_TAG]: DATABASE_ID,
});

afterEach(async () => {
  await bench?.end();
  expect(clock?.pendingTimers).toBe(0);
});

describe('the quota of a state-machine provider', () => {
  it("is the cloud's limit minus the use by foreign instances", async () => {
    let limits = 10;
    const { bench, clock, cloud, provider } = await setUp({
      adapter: { getQuotaLimits: () => Promise.resolve({ instances: limits, cores: 40 }) },
    });
    const node = bench.node();
    cloud.put({ externalId: 'ours', metadata: ours(node.id), resources: { instances: 1, cores: 2 } });
    cloud.put({ externalId: 'leaked', metadata: ours('0000009999'), resources: { instances: 1, cores: 4 } });
    cloud.put({ externalId: 'foreign', metadata: {}, resources: { instances: 1, cores: 8, ram: 9 } });
    cloud.put({ externalId: 'gone', metadata: {}, deleted: true });
    const before = provider.quota.estimatedNodepoolQuota();
    limits = 12;

    await clock.advance(300_000);

    expect(before).toEqual({ instances: 10, cores: 40 });
    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 10, cores: 28 });
  });

  it.each<[string, number, (provider: StateMachineProvider) => void]>([
    ['30 s after they were raised', 30_000, () => undefined],
    ['as soon as the configuration is reloaded', 0, (provider) => provider.refresh()],
  ])('that is too low for a label has its limits read again: %s', async (_name, afterMs, act) => {
    let cores = 2;
    const { clock, provider } = await setUp({
      adapter: {
        getQuotaLimits: () => Promise.resolve({ instances: 9, cores }),
        getQuotaForLabel: () => Promise.resolve({ instances: 1, cores: 4 }),
      },
    });
    const before = provider.quota.estimatedNodepoolQuota();
    await clock.advance(10_000);
    cores = 8;

    act(provider);
    await clock.advance(afterMs);

    expect([before, provider.quota.estimatedNodepoolQuota()]).toMatchObject([{ cores: 2 }, { cores: 8 }]);
  });

  it('that others use up is read again every 30 s, as they may leave', async () => {
    const { clock, cloud, provider } = await setUp({
      adapter: { getQuotaLimits: () => Promise.resolve({ instances: 1 }) },
    });
    cloud.put({ externalId: 'foreign', metadata: {} });
    provider.refresh();
    await clock.advance(5_000);
    const before = provider.quota.estimatedNodepoolQuota();
    cloud.remove('foreign');

    await clock.advance(30_000);

    expect([before, provider.quota.estimatedNodepoolQuota()]).toEqual([{ instances: 0 }, { instances: 1 }]);
  });

  it.each([
    ['which are listed', {}],
    ['which are read one by one', { single: true }],
    ['which are reported', { push: true, single: true }],
  ])('grows as soon as a leaked instance is gone, in a cloud the instances of %s', async (_name, features) => {
    const { bench, clock, cloud, provider } = await setUp({
      features,
      cloud: { deleteMs: 8_000 },
      adapter: { getQuotaLimits: () => Promise.resolve({ instances: 3 }) },
    });
    cloud.put({ externalId: 'leaked', metadata: ours('0000009999') });
    cloud.put({ externalId: 'foreign', metadata: {} });
    provider.quota.invalidateQuotaCache();
    await clock.advance(1_000);
    await provider.cleanupLeakedResources(SIGNAL);
    await provider.cleanupLeakedResources(SIGNAL);
    await clock.advance(7_000);
    const before = [provider.quota.estimatedNodepoolQuota(), bench.capacityChanges] as const;

    await clock.advance(4_000);

    expect(before[0]).toEqual({ instances: 1 });
    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 2 });
    expect(bench.capacityChanges).toBeGreaterThan(before[1]);
  });

  it('grows when a cloud reports that an instance has gone that is not ours, without asking it', async () => {
    const { bench, clock, cloud, provider } = await setUp({
      features: { push: true },
      adapter: { getQuotaLimits: () => Promise.resolve({ instances: 3 }) },
    });
    cloud.put({ externalId: 'a', metadata: {} });
    cloud.put({ externalId: 'b', metadata: {} });
    provider.quota.invalidateQuotaCache();
    await clock.advance(1_000);
    const before = provider.quota.estimatedNodepoolQuota();
    const [changes, calls] = [bench.capacityChanges, cloud.calls.length];

    cloud.remove('a');
    cloud.put({ externalId: 'b', deleted: true });

    expect([before, provider.quota.estimatedNodepoolQuota()]).toEqual([{ instances: 1 }, { instances: 3 }]);
    expect([bench.capacityChanges - changes, cloud.calls.length - calls]).toEqual([2, 0]);
  });

  it('does not count an instance that goes while the limits are on their way', async () => {
    let answer: (limits: { instances: number }) => void = () => undefined;
    const { clock, cloud, provider } = await setUp({
      features: { push: true },
      adapter: { getQuotaLimits: () => new Promise((resolve) => (answer = resolve)) },
    });
    answer({ instances: 3 });
    cloud.put({ externalId: 'foreign', metadata: {} });
    provider.quota.invalidateQuotaCache();
    await clock.advance(1_000);
    cloud.remove('foreign');

    answer({ instances: 3 });
    await clock.settle();

    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 3 });
  });

  it('is asked for again when a leaked resource was deleted that is no instance', async () => {
    let limits = 3;
    const volume = { type: 'volume', id: 'v-1', metadata: ours('0000009999') };
    const { clock, provider } = await setUp({
      adapter: {
        getQuotaLimits: () => Promise.resolve({ instances: 3, volumes: limits }),
        listResources: () => Promise.resolve([volume]),
        deleteResource: () => Promise.resolve(void limits++),
      },
    });
    await provider.cleanupLeakedResources(SIGNAL);
    await provider.cleanupLeakedResources(SIGNAL);

    await clock.advance(1_000);

    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 3, volumes: 4 });
  });

  it('does not call a node foreign that is deleted while the list is on its way', async () => {
    const { bench, clock, cloud, provider } = await setUp({
      adapter: {
        getQuotaLimits: () => Promise.resolve({ instances: 10 }),
        listInstances: async () => {
          const listed = await cloud.list();
          bench.nodes.clear();
          return listed;
        },
      },
    });
    cloud.put({ externalId: 'ours', metadata: ours(bench.node().id) });

    provider.quota.invalidateQuotaCache();
    await clock.advance(1_000);

    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 10 });
  });

  it('is unknown until it has been read, and asks for a look at the requests then', async () => {
    let answer: (limits: { instances: number }) => void = () => undefined;
    const { bench, clock, provider } = await setUp({
      adapter: { getQuotaLimits: () => new Promise((resolve) => (answer = resolve)) },
    });
    const before = [provider.quota.estimatedNodepoolQuota(), bench.capacityChanges];

    answer({ instances: 3 });
    await clock.settle();

    expect(before).toEqual([undefined, 1]);
    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 3 });
    expect(bench.capacityChanges).toBe(2);
  });

  it('keeps the old value while the cloud cannot be asked', async () => {
    let fails = false;
    const getQuotaLimits = () =>
      fails ? Promise.reject(new ProviderUnavailableError('down')) : Promise.resolve({ instances: 3 });
    const { clock, provider } = await setUp({ adapter: { getQuotaLimits } });
    provider.quota.estimatedNodepoolQuota();
    fails = true;

    await clock.advance(310_000);

    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 3 });
  });

  it('is unknown for a moment after it was thrown away, longer each time', async () => {
    const { clock, provider } = await setUp({
      adapter: { getQuotaLimits: () => Promise.resolve({ instances: 3 }) },
    });
    const pauses: number[] = [];
    for (let i = 0; i < 3; i++) {
      provider.quota.invalidateQuotaCache();
      const startedMs = clock.now();
      while (!provider.quota.estimatedNodepoolQuota()) await clock.advance(10);
      pauses.push(clock.now() - startedMs);
    }

    expect(pauses[0]).toBeLessThanOrEqual(500);
    expect(pauses[2]).toBeGreaterThan(pauses[0] ?? 0);
  });

  it('has the needs of labels at hand, and counts one instance where the driver knows none', async () => {
    const { provider, main } = await setUp({
      adapter: { getQuotaForLabel: () => Promise.resolve({ instances: 1, cores: 4 }) },
    });

    expect(main && provider.quota.quotaNeededByLabel('small', main)).toEqual({ instances: 1, cores: 4 });
    expect(main && provider.quota.quotaNeededByLabel('other', main)).toEqual({ instances: 1 });
  });

  // Ends: LabelUnusable Misconfigured
  it('puts a label that can never work on the list of error labels until it has been corrected', async () => {
    let isMended = false;
    const { bench, clock, provider } = await setUp({
      adapter: {
        getQuotaForLabel: () =>
          isMended ? Promise.resolve({ instances: 1 }) : Promise.reject(new ConfigError('no such flavor')),
      },
    });
    const before = [...provider.errorLabels()];
    expect(provider.conditions()).toMatchObject([
      {
        ...{ type: 'LabelUnusable', reason: 'Misconfigured', name: expect.stringContaining('/main/small') as string },
        nextStep: 'correct the label in the configuration or the cloud; it is tried again without a restart',
      },
    ]);
    isMended = true;

    await clock.advance(10_000);

    expect(before).toEqual(['small']);
    expect([[...provider.errorLabels()], provider.conditions()]).toEqual([[], []]);
    expect(bench.capacityChanges).toBeGreaterThan(2);
  });
});

describe('the zone of a new node', () => {
  it.each([
    ['of the pool', { azs: ['one', 'two'] }, {}, 'two'],
    ['of the cloud', {}, { getAZs: () => Promise.resolve(['a', 'b', 'c']) }, 'b'],
    ['none when the cloud has none', {}, {}, null],
  ])('is chosen at random %s', async (_name, pool, adapter, az) => {
    const { bench } = await setUp({ pool, adapter });

    expect(bench.node().az).toBe(az);
  });

  it('is the same for all nodes of a request, that of a reused node before all', async () => {
    const { bench, provider, main } = await setUp({ pool: { azs: ['one', 'two'] } });
    const node = bench.node();
    const handler = main && provider.getRequestHandler(main, { labels: ['small'] } as never);

    handler?.nodeReusedNotification?.({ ...node, az: 'one' });

    expect(handler?.setNodeMetadata?.({ ...node, az: null }).az).toBe('one');
    expect(handler?.acceptsNode?.({ ...node, az: 'two' })).toBe(false);
  });
});

describe('the readiness of a label', () => {
  it('is yes until the cloud says no, and is asked for again then', async () => {
    let exists = false;
    const { bench, clock, provider } = await setUp({ adapter: { labelReady: () => Promise.resolve(exists) } });
    const first = provider.labelReady('main', 'small');
    await clock.settle();
    const second = provider.labelReady('main', 'small');
    const changes = bench.capacityChanges;
    exists = true;

    await clock.advance(10_000);

    expect([first, second, provider.labelReady('main', 'small')]).toEqual([true, false, true]);
    expect(bench.capacityChanges).toBeGreaterThan(changes);
  });

  it('is no for a managed image without a ready upload', async () => {
    const { provider } = await setUp({
      config: { managesImages: true },
      label: { diskimage: 'debian', cloudImage: undefined },
    });

    expect(provider.labelReady('main', 'small')).toBe(false);
  });

  it('is no for a label or pool that does not exist', async () => {
    const { provider } = await setUp();

    expect([provider.labelReady('main', 'other'), provider.labelReady('other', 'small')]).toEqual([false, false]);
  });
});

describe('a managed image', () => {
  it('gives the launch its id, and the node its login data and path', async () => {
    const upload = { image: 'debian', buildId: 'b1', id: '0000000007', externalId: 'img-1', username: 'admin' };
    const images = { ready: true, newestUpload: () => upload as never, hasUpload: () => true, hasImage: () => true };
    const { bench } = await setUp({
      config: { managesImages: true },
      label: { diskimage: 'debian', cloudImage: undefined },
      context: { images },
    });

    const { node } = await bench.launch();

    expect(node).toMatchObject({
      username: 'admin',
      imageId: '/nodepool/images/debian/builds/b1/providers/cloud/images/0000000007',
    });
  });
});

describe('leaked resources', () => {
  it('are deleted when they were seen twice in a row, and only ours', async () => {
    const { bench, cloud, provider } = await setUp();
    const node = bench.node();
    bench.unseen.add('0000000777');
    cloud.put({ externalId: 'known', metadata: ours(node.id) });
    cloud.put({ externalId: 'leaked', metadata: ours('0000009999') });
    cloud.put({ externalId: 'unseen', metadata: ours('0000000777') });
    cloud.put({ externalId: 'others', metadata: { ...ours('0000009999'), [PROVIDER_TAG]: 'elsewhere' } });
    cloud.put({ externalId: 'untagged', metadata: {} });

    await provider.cleanupLeakedResources(SIGNAL);
    const afterOne = cloud.instances.size;
    await provider.cleanupLeakedResources(SIGNAL);

    expect(afterOne).toBe(5);
    expect([...cloud.instances.keys()]).toEqual(['known', 'unseen', 'others', 'untagged']);
    expect(bench.counted).toEqual(['leaked instances']);
  });

  it('are not looked for while the records are not known', async () => {
    const { bench, cloud, provider } = await setUp();
    cloud.put({ externalId: 'i', metadata: ours('0000009999') });
    bench.nodesReady = false;

    for (let i = 0; i < 3; i++) await provider.cleanupLeakedResources(SIGNAL);

    expect(cloud.instances.size).toBe(1);
  });

  it('do not keep each other from being deleted', async () => {
    const { cloud, provider } = await setUp();
    cloud.put({ externalId: 'a', metadata: ours('0000009998') });
    cloud.put({ externalId: 'b', metadata: ours('0000009999') });
    await provider.cleanupLeakedResources(SIGNAL);
    cloud.failNext('delete', new Error('internal error'));

    await provider.cleanupLeakedResources(SIGNAL);

    expect([...cloud.instances.keys()]).toEqual(['a']);
  });
});

describe('the deletion of a node', () => {
  it('ends when the instance is gone, at once where the cloud reports it', async () => {
    const { bench, clock, cloud } = await setUp({ features: { push: true, single: true }, cloud: { deleteMs: 7_000 } });
    const { node } = await bench.launch();
    const startedMs = clock.now();

    await clock.run(bench.cleanUp(node));

    expect(clock.now() - startedMs).toBe(7_000);
    expect(cloud.instances.size).toBe(0);
    expect(cloud.count('list')).toBe(0);
  });

  it('is done when there is no instance', async () => {
    const { bench, clock, cloud } = await setUp();

    await clock.run(bench.cleanUp(bench.node({ externalId: 'i-gone' })));

    expect(bench.provider.startNodeCleanup(bench.node(), SIGNAL)).toBeUndefined();
    expect(cloud.count('delete')).toBe(1);
  });

  it('fails after ten minutes, naming the instance', async () => {
    const { bench, clock, cloud } = await setUp({ cloud: { deleteMs: 601_000 } });
    const { node } = await bench.launch();

    await expect(clock.run(bench.cleanUp(node))).rejects.toMatchObject({ code: 'NODEPOOL_DELETE_TIMEOUT' });
    await clock.run(bench.cleanUp(node));

    expect(cloud.instances.size).toBe(0);
    await clock.advance(700_000); // the cloud itself continues
  });

  it('is repeated a few times while the cloud does not answer, and then given back', async () => {
    const { bench, clock, cloud } = await setUp();
    const { node } = await bench.launch();
    for (let i = 0; i < 4; i++) cloud.failNext('delete', new ProviderUnavailableError('down'));

    await expect(clock.run(bench.cleanUp(node))).rejects.toThrow('down');
    await clock.run(bench.cleanUp(node));

    expect(cloud.instances.size).toBe(0);
  });
});

describe('the end of a provider', () => {
  it('waits for running work, and then stops the adapter', async () => {
    let stoppedMs: number | undefined;
    const { bench, clock, provider } = await setUp({
      cloud: { createMs: 5_000 },
      adapter: { stop: () => void (stoppedMs = clock.now()) },
    });
    const startedMs = clock.now();
    const launching = bench.launch();
    await clock.settle();

    provider.idle();
    provider.stop();
    await clock.run(provider.join());

    expect(await launching).toMatchObject({ state: 'ready' });
    expect((stoppedMs ?? 0) - startedMs).toBeGreaterThanOrEqual(5_000);
  });
});

describe('a cloud that does not show its instances', () => {
  it('gets no new ones until it does again, and is asked meanwhile', async () => {
    let isDown = false;
    let lists = 0;
    const { clock, provider } = await setUp({
      adapter: {
        getQuotaLimits: () => Promise.resolve({ instances: 10 }),
        listInstances: () => {
          lists++;
          return isDown ? Promise.reject(new ProviderUnavailableError('no answer')) : Promise.resolve([]);
        },
      },
    });
    const before = provider.quota.estimatedNodepoolQuota();
    isDown = true;
    provider.quota.invalidateQuotaCache(); // noticed at the next look
    await clock.advance(400_000);

    const blind = provider.quota.estimatedNodepoolQuota();
    const listsBefore = lists;
    await clock.advance(60_000);
    const asked = lists - listsBefore;
    isDown = false;
    await clock.advance(120_000);

    expect([before, blind]).toEqual([{ instances: 10 }, undefined]);
    expect(asked).toBeGreaterThan(2);
    expect(asked).toBeLessThan(60);
    expect(provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 10 });
  });
});
