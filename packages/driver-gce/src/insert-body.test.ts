import { describe, expect, it } from 'vitest';
import { DATABASE_ID, useWorlds, watchInserts } from '../test/world.js';

const start = useWorlds();
const A = 'us-central1-a';

/** Milliseconds. */
const CREATED = expect.stringMatching(/^\d{13}$/) as string;

describe('the body of an insert', () => {
  it('is the same as that of the Python implementation', async () => {
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
                nodepool_node_created: CREATED,
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
          nodepool_node_created: CREATED,
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
            { key: 'nodepool_node_created', value: CREATED },
            { key: 'nodepool_pool_name', value: 'main' },
            { key: 'nodepool_provider_name', value: 'google' },
            { key: 'nodepool_database_id', value: DATABASE_ID },
          ],
        },
      },
    ]);
  });

  it('prefers overrides to the label, and the label to the pool', async () => {
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

  it('keeps the boot disk name of overrides', async () => {
    const params = { diskName: 'mine', sourceImage: 'projects/p/global/images/mine' };
    const overrides = { disks: [{ boot: true, autoDelete: true, initializeParams: params }] };
    const world = await start({ entry: { zone: A }, label: { 'instance-overrides': overrides } });

    await world.launch();

    expect([...world.fake.cloud.state.disks.keys()]).toEqual([`${A}/mine`]);
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
});
