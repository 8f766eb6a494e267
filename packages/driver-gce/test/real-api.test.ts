import { afterEach, describe, expect, it } from 'vitest';
import { ProviderWorld, type WorldOptions } from './provider-world.js';

const A = 'us-central1-a';
const B = 'us-central1-b';
const NEVER = new AbortController().signal;
const worlds: ProviderWorld[] = [];

async function start(options: WorldOptions = {}): Promise<ProviderWorld> {
  const world = await ProviderWorld.start({ ...options, entry: { zone: [A, B], ...options.entry } });
  worlds.push(world);
  return world;
}

/** A provider of both zones, with a node in zone b that was made when that was the only one. */
async function startWithNodeInB(options: WorldOptions = {}) {
  const former = await start({ ...options, entry: { zone: B } });
  const { node } = await former.launch();
  const world = await start({ ...options, fake: former.fake, firstNode: 2 });
  world.nodes.set(node.id, node);
  return { world, node };
}

const warnings = ({ log }: ProviderWorld) => log.filter(({ level }) => level === 'warn').map(({ message }) => message);

afterEach(async () => {
  for (const world of worlds.splice(0).reverse()) await world.end();
});

describe('the boot disk', () => {
  it('that stays after an internal error does not stop the next attempt, and is deleted', async () => {
    const world = await start();
    world.fake.failures.queue('operation-error');

    const { state, node } = await world.launch();

    expect(state).toBe('ready');
    expect(node.externalId).toBe('np0000000001');
    const disks = () => Array.from(world.fake.cloud.state.disks.values(), ({ user }) => user?.split('/').at(-1));
    await expect.poll(disks).toEqual(['np0000000001']);
  });

  it('of an older version that stayed under the name of the instance does not stop a launch', async () => {
    const world = await start();
    const disk = { zone: A, name: 'np0000000001', sizeGib: 10, type: 'pd-ssd', user: undefined, labels: {} };
    world.fake.cloud.state.disks.set(`${A}/np0000000001`, disk);

    expect((await world.launch()).state).toBe('ready');
  });

  it('has the name that overrides give it', async () => {
    const params = { diskName: 'mine', sourceImage: 'projects/p/global/images/mine' };
    const overrides = { disks: [{ boot: true, autoDelete: true, initializeParams: params }] };
    const world = await start({ label: { 'instance-overrides': overrides } });

    await world.launch();

    expect([...world.fake.cloud.state.disks.keys()]).toEqual([`${A}/mine`]);
  });
});

describe('a zone that does not answer', () => {
  it('does not hide instances of the others, and is logged once', async () => {
    const { world, node } = await startWithNodeInB();
    world.fake.cloud.unreachable.add(B);

    const { state } = await world.launch();
    await world.launch();

    expect(state).toBe('ready');
    expect(warnings(world)).toEqual(['A zone does not list its instances; deletions there end when it does']);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'provider', name: 'google', type: 'ZoneSilent', severity: 'warning', evidence: { zones: B } },
    ]);
    world.fake.cloud.unreachable.clear();
    await world.cleanUp(node);
    expect(world.log.map(({ message }) => message)).toContain('A zone lists its instances again');
    expect(world.provider.conditions?.()).toEqual([]);
  });

  it('does not make a deletion look done', async () => {
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

  it('does not make our own use look like that of others', async () => {
    const quotas = { INSTANCES: 10, CPUS: 20 };
    const { world } = await startWithNodeInB({ cloud: { quotas } });
    await world.launch();
    world.fake.cloud.unreachable.add(B);
    const asked = world.fake.countOf('Regions.Get');
    world.provider.quota?.invalidateQuotaCache();

    await expect.poll(() => world.fake.countOf('Regions.Get')).toBeGreaterThan(asked);
    await expect.poll(() => world.provider.quota?.estimatedNodepoolQuota()).toMatchObject({ instances: 10, CPUS: 20 });
  });

  it('does not stop the clean-up of leaks, preempted Spot VMs included', async () => {
    const world = await start({ label: { spot: true } });
    const { node } = await world.launch();
    const { node: leaked } = await world.launch();
    world.fake.cloud.preempt('np0000000001');
    world.nodes.delete(leaked.id);
    world.fake.cloud.unreachable.add(B);

    await world.findLeaks();

    await expect.poll(() => world.fake.instances.map(({ name }) => name)).toEqual([node.externalId]);
    expect(warnings(world)).toContain('Failed to look for preempted Spot VMs');
    expect(warnings(world)).toContain('Google took the Spot VM away');
  });
});

it('leaks of instances are found when disks cannot be listed', async () => {
  const world = await start();
  const { node } = await world.launch();
  world.nodes.delete(node.id);
  world.fake.onCall = ({ method }) => {
    if (method.name === 'Disks.AggregatedList') world.fake.failures.queue('unavailable');
  };

  await world.findLeaks();

  await expect.poll(() => world.fake.instances).toEqual([]);
  expect(warnings(world)).toContain('Failed to list leaked resources of one kind');
  world.fake.onCall = () => undefined;
});

it('a custom machine type counts against the quota of its family', async () => {
  const quotas = { INSTANCES: 10, CPUS: 20 };
  const world = await start({ cloud: { quotas }, label: { 'instance-type': 'custom-4-8192' } });

  const { node } = await world.launch();

  expect(node.resources).toMatchObject({ instances: 1, cores: 4, ram: 8192, CPUS: 4 });
  await world.provider.cleanupLeakedResources(NEVER);
});

it.each([
  [{}, 'FALSE'],
  [{ metadata: { items: [{ key: 'enable-oslogin', value: 'TRUE' }] } }, 'TRUE'],
])('with overrides %j OS Login of an image with a key is %s', async (overrides, expected) => {
  const image = { name: 'debian', 'image-id': 'projects/p/global/images/mine', username: 'zuul', key: 'ssh-x AA' };
  const world = await start({ entry: { 'cloud-images': [image] }, label: { 'instance-overrides': overrides } });

  await world.launch();

  const { items } = world.fake.instances[0]?.shown['metadata'] as { items: { key: string; value: string }[] };
  expect(items.filter(({ key }) => key === 'enable-oslogin')).toEqual([{ key: 'enable-oslogin', value: expected }]);
});
