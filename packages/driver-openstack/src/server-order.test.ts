import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { World } from '../test/support/world.js';
import { secondNetwork, useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));
const servers = () => [...world.cloud.state.servers.values()];

describe('the order for a server', () => {
  it('has everything the label, pool and image say', async () => {
    const label = {
      ...{ 'key-name': 'ci', userdata: 'hällo', networks: ['public', 'net-2'], 'server-group': 'spread' },
      'instance-properties': { team: 'infra', groups: 'mine', size: 3, nodepool_node_id: 'forged' },
      'dynamic-instance-properties': {
        tenant: '{request.tenant_name}',
        who: '{request.requestor_data[a]}',
        wide: '{request.tenant_name:->6}{{}}',
        broken: '{request.nothing}',
      },
    };
    const entry = { 'cloud-images': [{ name: 'debian', 'config-drive': true }] };
    await setUp({ label, entry, pool: { 'security-groups': ['ssh', 'web'] } }, secondNetwork);

    const { node } = await world.during(world.launch({ tenantName: 'acme', requestorData: { a: [1, 'b'] } }));

    const [server] = servers();
    expect(server).toMatchObject({
      ...{ name: `np${node.id}`, flavorId: 'f-2', keyName: 'ci', configDrive: true, securityGroups: ['ssh', 'web'] },
      hints: { group: 'group-1' },
      metadata: {
        ...{
          groups: 'mine',
          team: 'infra',
          size: '3',
          tenant: 'acme',
          who: "[1, 'b']",
          wide: '--acme{}',
          nodepool_image_name: 'debian',
        },
        ...{ nodepool_node_id: node.id, nodepool_provider_name: 'sky', nodepool_pool_name: 'main' },
      },
    });
    expect(server?.metadata).not.toHaveProperty('broken');
    expect(Buffer.from(server?.userData ?? '', 'base64').toString()).toBe('hällo');
    expect([...world.cloud.state.ports.values()].map(({ networkId }) => networkId)).toEqual(['net-public', 'net-2']);
  });

  it.each([
    [{ 'min-ram': 1_000 }, 'f-2'],
    [{ 'min-ram': 3_000 }, 'f-3'],
    [{ 'min-ram': 500, 'flavor-name': 'large' }, 'f-3'],
    [{ 'min-ram': 0, 'flavor-name': 'm1.tiny' }, 'f-1'],
    [{ 'min-ram': 0, 'flavor-name': 'f-3' }, 'f-3'],
  ])('with %o is for flavor %s', async (label, flavor) => {
    await setUp({ label });
    await world.launchReady();

    expect(servers()[0]?.flavorId).toBe(flavor);
  });

  it('leaves the network to Nova where none is named, with the version of the API that can', async () => {
    await setUp({ pool: { networks: [] } });
    await world.launchReady();

    expect(servers()[0]?.microversion).toBe('compute 2.37');
  });

  it('takes the default interface of clouds.yaml for the network', async () => {
    await setUp({ pool: { networks: [] }, cloud: { networks: [{ name: 'public', default_interface: true }] } });
    await world.launchReady();

    expect([...world.cloud.state.ports.values()].map(({ networkId }) => networkId)).toEqual(['net-public']);
  });

  it('boots from a volume that goes with the server, and is marked as ours', async () => {
    await setUp({ label: { 'boot-from-volume': true, 'volume-size': 80, 'volume-type': 'fast' } });
    const node = await world.launchReady();
    const [volume] = world.cloud.state.volumes.values();

    expect(servers()[0]).toMatchObject({
      microversion: 'compute 2.67',
      devices: [{ volume_type: 'fast', delete_on_termination: true }],
    });
    expect(volume).toMatchObject({ size: 80, metadata: { nodepool_node_id: node.id, nodepool_provider_name: 'sky' } });
    await world.during(world.cleanUp(node));
    expect(world.cloud.state.volumes.size).toBe(0);
  });

  it('is for the newest of two images with one name, only active ones, and the log names both', async () => {
    const images: JsonObject[] = [];
    await setUp({ label: { 'cloud-image': 'twice' }, entry: { 'cloud-images': [{ name: 'twice' }] } }, ({ cloud }) => {
      images.push(cloud.state.addImage('twice', { created_at: '2026-01-02T00:00:00Z' }));
      images.push(cloud.state.addImage('twice', { created_at: '2026-01-01T00:00:00Z' }));
      cloud.state.addImage('twice', { created_at: '2026-01-03T00:00:00Z', status: 'queued' });
    });
    await world.launchReady();

    expect(servers()[0]?.imageId).toBe(images[0]?.['id']);
    const line = world.lines.find(({ message }) => message.includes('Several images have the same name'));
    for (const { id } of images) expect(JSON.stringify(line)).toContain(id);
  });
});

describe('the networks of a label', () => {
  it.each([
    ['those of the pool', {}, 'public'],
    ['its own', { networks: ['private'] }, 'private'],
    ['what Nova chooses when it names none', { networks: [] }, 'private'],
  ])('are %s', async (_what, label, network) => {
    await setUp({ label, pool: { 'auto-floating-ip': false } });
    await world.launchReady();

    const [port] = world.cloud.state.ports.values();
    expect(port?.networkId).toBe(`net-${network}`);
  });
});
