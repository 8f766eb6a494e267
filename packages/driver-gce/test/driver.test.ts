import { isNodepoolError } from '@nodepool/core';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject, NodeRecord } from '@nodepool/core';
import { DATABASE_ID, ProviderWorld, type WorldOptions } from './provider-world.js';

const worlds: ProviderWorld[] = [];

async function start(options: WorldOptions = {}): Promise<ProviderWorld> {
  const world = await ProviderWorld.start(options);
  worlds.push(world);
  return world;
}

afterEach(async () => {
  for (const world of worlds.splice(0).reverse()) await world.end();
});

/** An instance that somebody else makes. */
function insert({ fake }: ProviderWorld, zone: string, { name, labels }: { name: string; labels: JsonObject }): void {
  const machineType = `zones/${zone}/machineTypes/e2-standard-2`;
  fake.cloud.insert(zone, { name, labels, machineType, networkInterfaces: [{}], disks: [{ boot: true }] }, undefined);
}

/** The body of the last insert. */
function watchInserts(world: ProviderWorld): { zone: string; machineType: string; body: Record<string, unknown> }[] {
  const inserts: { zone: string; machineType: string; body: Record<string, unknown> }[] = [];
  world.fake.onCall = ({ method, params, body = {} }) => {
    if (method.name !== 'Instances.Insert') return;
    const machineType = /[^/]+$/.exec(JSON.stringify(body['machineType']).slice(1, -1))?.[0] ?? '';
    inserts.push({ zone: params['zone'] ?? '', machineType, body });
  };
  return inserts;
}

describe('an instance', () => {
  it('is ordered as the reference orders it', async () => {
    const world = await start({
      entry: {
        'cloud-images': [
          { name: 'debian', 'image-id': 'projects/p/global/images/mine', username: 'zuul', key: 'ssh-x AA' },
        ],
      },
    });
    const inserts = watchInserts(world);

    const { state, node } = await world.launch();

    expect(state).toBe('ready');
    expect(node).toMatchObject({
      externalId: 'np0000000001',
      cloud: 'Google',
      region: 'us-central1',
      az: 'us-central1-a',
      interfaceIp: 'np0000000001.fake',
      privateIpv4: '10.128.0.3',
      username: 'zuul',
      resources: { instances: 1, cores: 2, ram: 8192 },
    });
    expect(inserts.map(({ body }) => body)).toEqual([
      {
        name: 'np0000000001',
        machineType: 'zones/us-central1-a/machineTypes/e2-standard-2',
        disks: [
          {
            boot: true,
            autoDelete: true,
            initializeParams: {
              diskName: expect.stringMatching(/^np0000000001-[0-9a-f]{8}$/) as string,
              sourceImage: 'projects/p/global/images/mine',
              diskType: 'zones/us-central1-a/diskTypes/pd-standard',
              diskSizeGb: '10',
              labels: {
                nodepool_node_id: '0000000001',
                nodepool_pool_name: 'main',
                nodepool_provider_name: 'google',
                nodepool_database_id: DATABASE_ID,
              },
            },
          },
        ],
        networkInterfaces: [
          { network: 'global/networks/default', accessConfigs: [{ type: 'ONE_TO_ONE_NAT', name: 'External NAT' }] },
        ],
        serviceAccounts: [],
        labels: {
          nodepool_node_id: '0000000001',
          nodepool_pool_name: 'main',
          nodepool_provider_name: 'google',
          nodepool_database_id: DATABASE_ID,
          nodepool_attempt: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        },
        metadata: {
          items: [
            { key: 'ssh-keys', value: 'zuul:ssh-x AA' },
            { key: 'enable-oslogin', value: 'FALSE' },
            { key: 'nodepool_node_id', value: '0000000001' },
            { key: 'nodepool_pool_name', value: 'main' },
            { key: 'nodepool_provider_name', value: 'google' },
            { key: 'nodepool_database_id', value: DATABASE_ID },
          ],
        },
      },
    ]);
  });

  it('has what the label asks for beyond that, the label going before the pool, and overrides before both', async () => {
    const world = await start({
      pool: { network: 'corp', 'network-tags': ['pool'], 'external-ip': false, 'use-internal-ip': true },
      label: {
        subnetwork: 'ci',
        'network-tags': ['ci', 'gpu'],
        'service-account': 'ci@p.iam.gserviceaccount.com',
        scopes: ['https://www.googleapis.com/auth/devstorage.read_only'],
        'volume-type': 'pd-ssd',
        'volume-size': 60,
        spot: true,
        'max-run-duration': 3600,
        'user-data': '#cloud-config',
        'instance-overrides': {
          canIpForward: true,
          scheduling: { onHostMaintenance: 'TERMINATE' },
          labels: { team: 'ci', nodepool_node_id: 'forged' },
          metadata: { items: [{ key: 'block-project-ssh-keys', value: 'TRUE' }] },
        },
      },
    });
    const inserts = watchInserts(world);

    const { node } = await world.launch();

    expect(node.interfaceIp).toBe('10.128.0.3');
    expect(inserts[0]?.body).toMatchObject({
      canIpForward: true,
      labels: { team: 'ci', nodepool_node_id: '0000000001' },
      tags: { items: ['ci', 'gpu'] },
      networkInterfaces: [{ network: 'global/networks/corp', subnetwork: 'regions/us-central1/subnetworks/ci' }],
      serviceAccounts: [
        { email: 'ci@p.iam.gserviceaccount.com', scopes: ['https://www.googleapis.com/auth/devstorage.read_only'] },
      ],
      scheduling: {
        provisioningModel: 'SPOT',
        automaticRestart: false,
        instanceTerminationAction: 'DELETE',
        maxRunDuration: { seconds: '3600' },
      },
    });
    const { items } = inserts[0]?.body['metadata'] as { items: object[] };
    expect(items).toEqual(
      expect.arrayContaining([
        { key: 'block-project-ssh-keys', value: 'TRUE' },
        { key: 'user-data', value: '#cloud-config' },
        { key: 'nodepool_node_id', value: '0000000001' },
      ]),
    );
  });

  it('costs two calls that write, each with a request id', async () => {
    const world = await start();
    const ids: unknown[] = [];
    world.fake.onCall = ({ query }) => {
      if ('requestId' in query) ids.push(query['requestId']);
    };

    const { node } = await world.launch();
    await world.cleanUp(node);

    expect(new Set(ids).size).toBe(2);
    expect(world.fake.countOf('Instances.Insert') + world.fake.countOf('Instances.Delete')).toBe(2);
  });

  it('of a lost answer is asked for again under the same id, and there is one', async () => {
    const world = await start();
    world.fake.failures.queue('lost-reply');

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Insert')).toBe(2);
    expect(world.fake.instances).toHaveLength(1);
    expect(world.counted).toEqual(['ready']);
  });

  it('of a lost answer is used when the repeated insert finds it there', async () => {
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

  it('that is stopped after it was made is deleted, and another one made', async () => {
    const world = await start();
    world.fake.failures.queue('error-state');

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Delete')).toBe(1);
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
  });

  it('whose operation fails is not waited for', async () => {
    const world = await start({ entry: { 'launch-retries': 1 } });
    world.fake.failures.queue('operation-error');

    const { state, error } = await world.launch();

    expect(state).toBe('failed');
    expect(String(error)).toMatch(/INTERNAL_ERROR/);
  });

  it('is made of an image of the family, which is not asked for again for a while', async () => {
    const world = await start();
    const inserts = watchInserts(world);
    await world.launch();
    await world.launch();

    const images = inserts.map(({ body }) => /debian-12-v\d/.exec(JSON.stringify(body))?.[0]);

    expect(images).toEqual(['debian-12-v1', 'debian-12-v1']);
    expect(world.fake.countOf('Images.GetFromFamily')).toBe(1);
  });
});

describe('stock', () => {
  const everywhere = { entry: { zone: ['us-central1-a', 'us-central1-b'], 'launch-retries': 1 } };

  it('that is out in a zone is looked for in the next one, and not looked for again', async () => {
    const world = await start(everywhere);
    world.fake.cloud.exhausted.add('us-central1-a/e2-standard-2');
    const inserts = watchInserts(world);

    const launched = [await world.launch(), await world.launch(), await world.launch()];

    expect(launched.map(({ state, node }) => [state, node.az])).toEqual(Array(3).fill(['ready', 'us-central1-b']));
    expect(inserts.map(({ zone }) => zone)).toEqual(['us-central1-a', ...Array<string>(3).fill('us-central1-b')]);
  });

  it('that is out in all zones is looked for in the next machine type, which counts for what it is', async () => {
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

  it('that is out everywhere fails a launch, and the next ones without a call', async () => {
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

  it('is not looked for in zones that do not have the machine type', async () => {
    const world = await start({ ...everywhere, label: { 'instance-type': ['zz-standard-4', 'e2-standard-4'] } });

    const { state } = await world.launch();

    expect(state).toBe('ready');
    expect(world.fake.countOf('Instances.Insert')).toBe(1);
  });

  it('of a machine type that no zone has makes the label one that can never work', async () => {
    const world = await start({ ...everywhere, label: { 'instance-type': 'zz-standard-4' } });

    const { error } = await world.launch();

    expect(isNodepoolError(error, 'NODEPOOL_CONFIG')).toBe(true);
    await expect.poll(() => [...world.provider.errorLabels()]).toEqual(['small']);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'label', name: 'google/main/small', type: 'LabelUnusable', reason: 'MachineTypeMissing' },
    ]);
    expect(world.provider.conditions?.()[0]?.message).toContain('has machine type "zz-standard-4"');
  });

  it('is looked for in all zones of the region when none is named', async () => {
    const world = await start({ entry: { zone: undefined as unknown as string } });
    for (const zone of ['a', 'b']) world.fake.cloud.exhausted.add(`us-central1-${zone}/e2-standard-2`);

    const { node } = await world.launch();

    expect(node.az).toBe('us-central1-f');
  });
});

describe('quota', () => {
  const quotas = { INSTANCES: 3, CPUS: 20, CPUS_ALL_REGIONS: 30, IN_USE_ADDRESSES: 5, DISKS_TOTAL_GB: 100 };

  it('is told under the names of the cloud, less what others use', async () => {
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

  it('counts nodes of the original, which have no labels, as ours and not as use by others', async () => {
    const world = await start({ cloud: { quotas } });
    const { node } = await world.launch();
    world.nodes.set(node.id, { ...node, resources: { instances: 1, cores: 2, ram: 8192 } });
    for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });
    world.provider.quota?.invalidateQuotaCache();

    // Its record counts for its instance and cores; for the rest it has no numbers.
    await expect
      .poll(() => world.provider.quota?.estimatedNodepoolQuota())
      .toMatchObject({ instances: 3, cores: 30, CPUS: 18, IN_USE_ADDRESSES: 4 });
  });

  it('that is used up after all aborts the launch, and no attempt counts', async () => {
    const world = await start({ cloud: { quotas: { ...quotas, INSTANCES: 0 } } });

    const { state, error } = await world.launch();

    expect(state).toBe('aborted');
    expect(String(error)).toMatch(/Quota 'INSTANCES' exceeded/);
  });
});

describe('what is left over', () => {
  it('is deleted when it was seen twice: instances and disks', async () => {
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

  it('of a stopped instance is deleted as well', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) instance.status = 'TERMINATED';
    world.nodes.delete(node.id);

    await world.findLeaks();

    await expect.poll(() => world.fake.instances).toEqual([]);
  });

  it.each([false, true])(
    'is never what others made, whether filters are heeded or not (ignored: %s)',
    async (ignored) => {
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
    },
  );

  it('by another Nodepool, without labels, is deleted with its node', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });

    await world.cleanUp(node);

    expect(world.fake.instances).toEqual([]);
  });

  it('is not what has the name of a node and is not ours', async () => {
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

  it('is not what another database has made for a node of the same number: it is neither used nor deleted', async () => {
    const former = await start();
    const { node: old } = await former.launch();
    const world = await start({ fake: former.fake, databaseId: 'f'.repeat(32) });

    const { state, node, error } = await world.launch();
    await world.cleanUp(node);

    expect([state, node.externalId, old.externalId]).toEqual(['failed', null, 'np0000000001']);
    expect(String(error)).toMatch(/"np0000000001" exists in us-central1-a and is not this provider's/);
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
  });

  it('is not what was made before there were ids of databases, for a node of the same number', async () => {
    const former = await start({ databaseId: undefined });
    await former.launch();
    const world = await start({ fake: former.fake });

    const { state, node } = await world.launch();
    await world.cleanUp({ ...node, externalId: 'np0000000001' }); // a launcher that died before it knew better
    await world.findLeaks();

    expect(state).toBe('failed');
    expect(world.fake.instances.map(({ status }) => status)).toEqual(['RUNNING']);
    expect(world.provider.alienResources?.()).toMatchObject([{ id: 'np0000000001' }, { type: 'disk' }]);
  });

  it('that was made before there were ids of databases gets one by its record, and other labels stay', async () => {
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

  it('of another database that has the name of a leaked one in another zone stays, and keeps its id', async () => {
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

  it('is not what has its name in another zone', async () => {
    const world = await start({ entry: { zone: ['us-central1-a', 'us-central1-b'] } });
    const labels = { nodepool_provider_name: 'google', nodepool_node_id: '0000000001', nodepool_pool_name: 'main' };
    insert(world, 'us-central1-b', { name: 'np0000000001', labels });

    const { state, node } = await world.launch();
    await world.cleanUp(node);

    expect([state, node.az]).toEqual(['ready', 'us-central1-a']);
    expect(world.fake.instances.map(({ zone }) => zone)).toEqual(['us-central1-b']);
  });

  describe('in a zone that has left the configuration', () => {
    const both = { entry: { zone: ['us-central1-a', 'us-central1-b'] } };

    /** A node in zone b, and a provider that knows of zone a alone. */
    async function startFormer(): Promise<{ world: ProviderWorld; node: NodeRecord }> {
      const former = await start(both);
      former.fake.cloud.exhausted.add('us-central1-a/e2-standard-2');
      const { node } = await former.launch();
      expect(node.az).toBe('us-central1-b');
      return { world: await start({ fake: former.fake }), node };
    }

    it('is deleted with its node, which ends when it is gone', async () => {
      const { world, node } = await startFormer();

      await world.cleanUp(node);

      expect(world.fake.instances).toEqual([]);
    });

    it('is deleted with its node when another Nodepool has made it, without labels', async () => {
      const { world, node } = await startFormer();
      for (const instance of world.fake.instances) Object.assign(instance.shown, { labels: {} });

      await world.cleanUp(node);

      expect(world.fake.instances).toEqual([]);
    });

    it('is found as leaked', async () => {
      const { world } = await startFormer();

      await world.findLeaks();

      await expect.poll(() => world.fake.instances).toEqual([]);
    });
  });

  it('is gone at once when it is gone already', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) world.fake.cloud.remove(instance);

    await world.cleanUp(node);

    expect(world.fake.countOf('Instances.Delete')).toBe(0);
  });
});

describe('a Spot VM', () => {
  it('that is taken away is reported with its node, and withdrawn if it stood by', async () => {
    const world = await start({ label: { spot: true } });
    const { node } = await world.launch();
    const { node: used } = await world.launch();
    world.nodes.set(used.id, { ...used, state: 'in-use' });
    world.fake.cloud.preempt('np0000000001');
    world.fake.cloud.preempt('np0000000002');

    await world.provider.cleanupLeakedResources(new AbortController().signal);
    await world.provider.cleanupLeakedResources(new AbortController().signal);

    const reports = world.log.filter(({ message }) => message === 'Google took the Spot VM away');
    expect(reports.map(({ fields }) => [fields['nodeId'], fields['state']])).toEqual([
      [node.id, 'ready'],
      [used.id, 'in-use'],
    ]);
    expect(world.withdrawn).toEqual([{ id: node.id, why: 'Google took the Spot VM away' }]);
  });
});

describe('more than 500 instances', () => {
  it('are all seen', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (let i = 0; i < 1_100; i++) {
      const name = `np1${String(i).padStart(9, '0')}`;
      const labels = {
        nodepool_provider_name: 'google',
        nodepool_node_id: name.slice(2),
        nodepool_pool_name: 'main',
        nodepool_database_id: DATABASE_ID,
      };
      world.fake.cloud.insert(
        'us-central1-a',
        {
          ...{ name, labels, machineType: 'zones/us-central1-a/machineTypes/e2-standard-2', networkInterfaces: [{}] },
          disks: [{ boot: true }],
        },
        undefined,
      );
    }

    await world.findLeaks();
    await expect.poll(() => world.fake.instances.length).toBe(1);

    expect(world.fake.instances[0]?.name).toBe(node.externalId);
  });
});

it('refuses a list that names the same next page again and again', async () => {
  const world = await start();
  world.fake.repeatsPages = true;

  await expect(world.findLeaks()).rejects.toThrow(/the list names page "p0" as the next one again and again/);
});

describe('a start', () => {
  it.each([
    [{ project: 'another' }, /another/],
    [{ region: 'mars-north1', zone: 'mars-north1-a' }, /mars-north1.*not found/],
    [{ zone: 'us-central1-x' }, /zone "us-central1-x" does not exist: region "us-central1" has us-central1-a/],
  ])('with %j says what is wrong', async (entry, message) => {
    await expect(ProviderWorld.start({ entry })).rejects.toThrow(message);
  });
});

describe('calls', () => {
  it('that read do not wait behind those that write', async () => {
    const world = await start({ entry: { rate: 5 } });
    const seen: string[] = [];
    world.fake.onCall = ({ method }) => {
      seen.push(method.name);
    };

    const { state } = (await Promise.all(Array.from({ length: 8 }, () => world.launch())))[0] ?? {};

    expect(state).toBe('ready');
    const inserts = seen.flatMap((name, index) => (name === 'Instances.Insert' ? [index] : []));
    expect(seen.slice(inserts[0], inserts.at(-1))).toContain('Instances.List');
  });
});
