import { describe, expect, it } from 'vitest';
import { isNodepoolError } from '@nodepool/core';
import { useWorlds, watchInserts } from '../test/world.js';

const start = useWorlds();
const A = 'us-central1-a';
const B = 'us-central1-b';

describe('a creation', () => {
  it('repeats an insert with a lost answer under the same id', async () => {
    const world = await start();
    world.fake.failures.queue('lost-reply');

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Insert')).toBe(2);
    expect(world.fake.instances).toHaveLength(1);
    expect(world.counted).toEqual(['ready']);
  });

  it('adopts the instance if the repeated insert finds it', async () => {
    const world = await start();
    world.fake.failures.queue('lost-reply');
    world.fake.onCall = ({ method }) => {
      if (method.name === 'Instances.Insert') world.fake.cloud.state.requests.clear();
    };

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Insert')).toBe(2);
    expect(world.fake.instances).toHaveLength(1);
  });

  it.each(['Wait', 'Get'])(
    'looks at the instance when its operation is forgotten (ZoneOperations.%s)',
    async (call) => {
      const world = await start({ cloud: { bootMs: 200, ...(call === 'Get' && { waitMs: 0 }) } });
      world.fake.onCall = ({ method }) => {
        if (method.name.startsWith('ZoneOperations.')) world.fake.cloud.state.operations.clear();
      };

      const { state, error } = await world.launch();

      expect([state, error]).toEqual(['ready', undefined]);
      expect(world.counted).toEqual(['ready']);
    },
  );

  it('replaces an instance that was stopped meanwhile', async () => {
    const world = await start();
    world.fake.failures.queue('error-state');

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Delete')).toBe(1);
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
  });

  it('fails with its operation', async () => {
    const world = await start({ entry: { 'launch-retries': 1 } });
    world.fake.failures.queue('operation-error');

    const { state, error } = await world.launch();

    expect(state).toBe('failed');
    expect(String(error)).toMatch(/INTERNAL_ERROR/);
  });

  it('deletes the boot disk of a failed insert', async () => {
    const world = await start({ entry: { zone: [A, B] } });
    world.fake.failures.queue('operation-error');

    const { state, node } = await world.launch();

    expect(state).toBe('ready');
    expect(node.externalId).toBe('np0000000001');
    const disks = () => Array.from(world.fake.cloud.state.disks.values(), ({ user }) => user?.split('/').at(-1));
    await expect.poll(disks).toEqual(['np0000000001']);
  });

  it('is not hindered by an orphaned boot disk of an older version', async () => {
    const world = await start({ entry: { zone: [A, B] } });
    const disk = { zone: A, name: 'np0000000001', sizeGib: 10, type: 'pd-ssd', user: undefined, labels: {} };
    world.fake.cloud.state.disks.set(`${A}/np0000000001`, disk);

    expect((await world.launch()).state).toBe('ready');
  });

  it('fails if the name belongs to another program', async () => {
    const world = await start({ entry: { 'launch-retries': 1 } });
    world.fake.cloud.insert(
      'us-central1-a',
      {
        name: 'np0000000001',
        machineType: 'zones/us-central1-a/machineTypes/e2-standard-2',
        disks: [{ boot: true }],
        networkInterfaces: [{}],
      },
      undefined,
    );

    const { state, node, error } = await world.launch();
    await world.cleanUp(node);

    expect(state).toBe('failed');
    expect(String(error)).toMatch(/exists in us-central1-a and is not this provider's/);
    expect(world.fake.instances).toHaveLength(1);
  });
});

describe('stock', () => {
  const everywhere = { entry: { zone: ['us-central1-a', 'us-central1-b'], 'launch-retries': 1 } };

  it('that is exhausted in a zone is taken from the next zone, without further attempts', async () => {
    const world = await start(everywhere);
    world.fake.cloud.exhausted.add('us-central1-a/e2-standard-2');
    const inserts = watchInserts(world);

    const launched = [await world.launch(), await world.launch(), await world.launch()];

    expect(launched.map(({ state, node }) => [state, node.az])).toEqual(Array(3).fill(['ready', 'us-central1-b']));
    expect(inserts.map(({ zone }) => zone)).toEqual(['us-central1-a', ...Array<string>(3).fill('us-central1-b')]);
  });

  it('that is exhausted in all zones is taken from the next machine type, with its own quota', async () => {
    const world = await start({
      ...everywhere,
      cloud: { quotas: { CPUS: 100, N2_CPUS: 100 } },
      label: { 'instance-type': ['n2-standard-4', 'e2-standard-4'] },
    });
    world.fake.cloud.exhausted.add('us-central1-a/n2-standard-4').add('us-central1-b/n2-standard-4');
    const inserts = watchInserts(world);

    const { node } = await world.launch();

    expect(inserts.map(({ zone, machineType }) => `${machineType} ${zone}`)).toEqual([
      'n2-standard-4 us-central1-a',
      'n2-standard-4 us-central1-b',
      'e2-standard-4 us-central1-a',
    ]);
    expect(node.resources).toMatchObject({ CPUS: 4 });
    expect(node.resources).not.toHaveProperty('N2_CPUS');
  });

  it('that is exhausted everywhere fails a launch, and the next ones without a call', async () => {
    const world = await start(everywhere);
    world.fake.cloud.exhausted.add('us-central1-a/e2-standard-2').add('us-central1-b/e2-standard-2');
    await world.launch();
    const asked = world.fake.countOf('Instances.Insert');

    const results = await Promise.all([world.launch(), world.launch()]);

    expect(asked).toBe(2);
    expect(world.fake.countOf('Instances.Insert')).toBe(2);
    expect(results.map(({ error }) => isNodepoolError(error, 'NODEPOOL_CAPACITY'))).toEqual([true, true]);
    expect(String(results[0]?.error)).toMatch(/e2-standard-2 in us-central1-b; the next try is in \d+ s/);
  });

  it('is not requested in zones without the machine type', async () => {
    const world = await start({ ...everywhere, label: { 'instance-type': ['zz-standard-4', 'e2-standard-4'] } });

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Insert')).toBe(1);
  });

  it('of a machine type that no zone has makes the label unusable', async () => {
    const world = await start({ ...everywhere, label: { 'instance-type': 'zz-standard-4' } });

    const { error } = await world.launch();

    expect(isNodepoolError(error, 'NODEPOOL_CONFIG')).toBe(true);
    await expect.poll(() => [...world.provider.errorLabels()]).toEqual(['small']);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'label', name: 'google/main/small', type: 'LabelUnusable', reason: 'MachineTypeMissing' },
    ]);
    expect(world.provider.conditions?.()[0]?.message).toContain('has machine type "zz-standard-4"');
  });

  it('is requested in all zones of the region by default', async () => {
    const world = await start({ entry: { zone: undefined as unknown as string } });
    for (const zone of ['a', 'b']) world.fake.cloud.exhausted.add(`us-central1-${zone}/e2-standard-2`);

    const { node } = await world.launch();

    expect(node.az).toBe('us-central1-f');
  });
});
