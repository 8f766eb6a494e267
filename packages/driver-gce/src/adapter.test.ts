import { describe, expect, it } from 'vitest';
import { TOKEN } from '@nodepool/fake-compute';
import { useWorlds, World } from '../test/world.js';

const NEVER = new AbortController().signal;
const start = useWorlds();

describe('quota', () => {
  const quotas = { INSTANCES: 3, CPUS: 20, CPUS_ALL_REGIONS: 30, IN_USE_ADDRESSES: 5, DISKS_TOTAL_GB: 100 };

  it('is the limit of the cloud under its names, minus the use by other users', async () => {
    const world = await start({ cloud: { quotas } });
    await world.launch();
    world.fake.cloud.insert(
      'us-central1-b',
      {
        name: 'foreign',
        machineType: 'zones/us-central1-b/machineTypes/e2-standard-4',
        disks: [{ boot: true, initializeParams: { diskSizeGb: '30' } }],
        networkInterfaces: [{}],
      },
      undefined,
    );
    world.provider.quota?.invalidateQuotaCache();

    await expect
      .poll(() => world.provider.quota?.estimatedNodepoolQuota())
      .toEqual({ instances: 2, CPUS: 16, cores: 26, IN_USE_ADDRESSES: 5, DISKS_TOTAL_GB: 70 });
    const pool = world.provider.config.pools.get('main');
    expect(pool && world.provider.quota?.quotaNeededByLabel('small', pool)).toEqual({
      ...{ instances: 1, cores: 2, ram: 8192 },
      ...{ CPUS: 2, IN_USE_ADDRESSES: 1, DISKS_TOTAL_GB: 10 },
    });
  });

  it('counts unlabelled nodes of the Python implementation as own usage', async () => {
    const world = await start({ cloud: { quotas } });
    const { node } = await world.launch();
    world.nodes.set(node.id, { ...node, resources: { instances: 1, cores: 2, ram: 8192 } });
    for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });
    world.provider.quota?.invalidateQuotaCache();

    // Its record has only instances and cores.
    await expect
      .poll(() => world.provider.quota?.estimatedNodepoolQuota())
      .toMatchObject({ instances: 3, cores: 30, CPUS: 18, IN_USE_ADDRESSES: 4 });
  });

  it('that is exceeded aborts the launch, without counting an attempt', async () => {
    const world = await start({ cloud: { quotas: { ...quotas, INSTANCES: 0 } } });

    const { state, error } = await world.launch();

    expect(state).toBe('aborted');
    expect(String(error)).toMatch(/Quota 'INSTANCES' exceeded/);
  });

  it('counts a custom machine type against its family', async () => {
    const quotas = { INSTANCES: 10, CPUS: 20 };
    const world = await start({ cloud: { quotas }, label: { 'instance-type': 'custom-4-8192' } });

    const { node } = await world.launch();

    expect(node.resources).toMatchObject({ instances: 1, cores: 4, ram: 8192, CPUS: 4 });
    await world.provider.cleanupLeakedResources(NEVER);
  });
});

describe('conditions', () => {
  // Ends: LabelUnusable MachineTypeMissing
  it('report a machine type that no zone has, until one has it', async () => {
    const { fake, provider } = await start();
    fake.cloud.futureTypes.add('e2-standard-2');
    const world = await start({ fake });
    const reasons = () => world.provider.conditions?.().map(({ reason }) => reason);

    await expect.poll(reasons).toEqual(['MachineTypeMissing']);
    fake.cloud.futureTypes.clear();

    await expect.poll(reasons).toEqual([]);
    expect(provider.conditions?.()).toEqual([]);
  });

  it('report a refused login, until one is accepted', async () => {
    const world = await start();
    world.fake.tokens.clear();
    await expect(world.provider.listResources?.(NEVER)).rejects.toThrow('401');
    const refused = world.provider.conditions?.();
    world.fake.tokens.add(TOKEN);
    await world.provider.listResources?.(NEVER);

    expect(refused).toMatchObject([
      { kind: 'provider', name: 'google', type: 'LoginRefused', reason: 'Unauthorized', severity: 'error' },
    ]);
    expect(refused?.[0]?.message).toContain('401');
    expect(world.provider.conditions?.()).toEqual([]);
  });
});

describe('a start', () => {
  it.each([
    [{ project: 'another' }, /another/],
    [{ region: 'mars-north1', zone: 'mars-north1-a' }, /mars-north1.*not found/],
    [{ zone: 'us-central1-x' }, /zone "us-central1-x" does not exist: region "us-central1" has us-central1-a/],
  ])('with %j names the error', async (entry, message) => {
    await expect(World.start({ entry })).rejects.toThrow(message);
  });
});
