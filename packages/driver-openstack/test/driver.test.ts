import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ProviderWorld } from './support/provider-world.js';
import { secondNetwork, useWorlds } from './support/use-worlds.js';

let world: ProviderWorld;
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
    const line = world.lines.find(({ message }) => message.includes('Several images have one name'));
    for (const { id } of images) expect(JSON.stringify(line)).toContain(id);
  });
});

describe('a node', () => {
  it('gets what the cloud says about its server', async () => {
    await setUp({ pool: { 'availability-zones': ['north'] }, cloud: { region_name: 'RegionOne' } }, ({ cloud }) => {
      cloud.state.zones = ['north', 'south'];
    });
    const node = await world.launchReady();

    expect(node).toMatchObject({
      ...{
        az: 'north',
        cloud: 'fake',
        region: null,
        username: 'zuul',
        publicIpv4: expect.stringMatching(/^198\.51\./) as unknown,
      },
    });
    // without ports: a launcher of the original would stop making nodes there
    expect(node.resources).toEqual({ instances: 1, cores: 1, ram: 2_048 });
    expect(node.hostId).not.toBe('');
  });

  it('waits for the host keys that its console prints, when these are the only right ones', async () => {
    const block = '-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAA root@np1\n-----END SSH HOST KEY KEYS-----\n';
    await setUp({ label: { 'host-keys-from-console': true } });
    const launched = world.launch();
    await world.pass(10_000);
    const stateBefore = [...world.nodes.values()][0]?.state;
    world.cloud.state.console = `boot\nci-info: x\n${block}login: `;

    const { node } = await world.during(launched);

    expect([stateBefore, node.state]).toEqual(['building', 'ready']);
    expect(node.hostKeys).toEqual(['ssh-ed25519 AAAA']);
  });

  it('fails for good reason when its console never prints any', async () => {
    await setUp({ label: { 'host-keys-from-console': true }, entry: { 'launch-retries': 1 } });

    const { state, error } = await world.during(world.launch());

    expect(state).toBe('failed');
    expect(error?.message).toContain('cloud-init');
    expect(world.counted).toEqual(['error.keyscan']);
  });
});

describe('what a record has of a server', () => {
  it('is its region only with region-name, and an empty text for each address it lacks', async () => {
    await setUp();
    const { region, publicIpv6 } = await world.launchReady();
    await setUp({ entry: { 'region-name': 'RegionOne' } });
    const named = await world.launchReady();

    expect([region, publicIpv6]).toEqual([null, '']);
    expect(named.region).toBe('RegionOne');
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

describe('a server that is ACTIVE just as its launch times out', () => {
  it('is used', async () => {
    await setUp({ entry: { 'launch-timeout': 30 } }, ({ cloud }) => (cloud.state.knobs.bootMs = 29_950));
    const node = await world.launchReady();

    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
    expect(world.counted).toEqual(['ready']);
  });

  it('is not used without the floating IP that it needs', async () => {
    const pool = { networks: ['private'] };
    const cloud = { networks: [{ name: 'private', routes_externally: false }] };
    await setUp(
      { entry: { 'launch-timeout': 30, 'launch-retries': 1 }, pool, cloud },
      (made) => (made.cloud.state.knobs.bootMs = 29_950),
    );

    const { state } = await world.during(world.launch());

    expect(state).toBe('failed');
  });
});

const NEW_FLAVOR = { id: 'f-9', name: 'm9.new', vcpus: 1, ram: 100 };
const NEW_NETWORK = { id: 'net-9', name: 'new', 'router:external': false, subnets: [] };

describe('what is wrong with a label', () => {
  it.each([
    ['Flavor', 'Missing', { 'flavor-name': 'm9.none', 'min-ram': 0 }, /flavor-name "m9\.none"; it has m1\.tiny/],
    ['Network', 'Missing', { networks: ['nowhere'] }, /network "nowhere" does not exist.*private, public/],
    ['Network', 'Ambiguous', { networks: ['storage'] }, /"storage" is the name of several \(net-2, net-3\)/],
    ['Image', 'Missing', { 'cloud-image': 'plan9' }, /no active image with the name or id "plan9"; it has debian/],
    ['ServerGroup', 'Missing', { 'server-group': 'none' }, /server group "none" does not exist.*spread/],
  ])('%s is %s: the label is one that cannot work, and its condition names it', async (thing, how, label, message) => {
    await setUp({ label, entry: { 'cloud-images': [{ name: 'debian' }, { name: 'plan9' }] } }, (made) => {
      secondNetwork(made);
      made.cloud.state.networks.push({ id: 'net-3', name: 'storage', 'router:external': false, subnets: [] });
    });

    expect([...world.provider.errorLabels()]).toEqual(['small']);
    const line = world.lines.find(({ message: text }) => text.startsWith('Label cannot be used')) as unknown as {
      fields: { error: Error };
    };
    expect(line.fields.error.message).toMatch(message);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'label', name: 'sky/main/small', type: 'LabelUnusable', reason: `${thing}${how}`, severity: 'error' },
    ]);
    const [{ message: text = '', nextStep = '' } = {}] = world.provider.conditions?.() ?? [];
    expect(text).toMatch(message);
    expect(nextStep).toMatch(how === 'Missing' ? /^correct "/ : /^write the id of the network/);
  });

  const corrections: [string, JsonObject, (made: ProviderWorld) => void][] = [
    ['flavor', { 'flavor-name': 'm9.new', 'min-ram': 0 }, ({ cloud }) => cloud.state.flavors.push(NEW_FLAVOR)],
    ['network', { networks: ['new'] }, ({ cloud }) => cloud.state.networks.push(NEW_NETWORK)],
    ['image', { 'cloud-image': 'plan9' }, ({ cloud }) => void cloud.state.addImage('plan9')],
  ];

  it.each(corrections)(
    'is gone 30 s after its %s was made, however long it was missing',
    async (_what, label, make) => {
      await setUp({ label, entry: { 'cloud-images': [{ name: 'debian' }, { name: 'plan9' }] } });
      await world.pass(3_600_000);
      const before = [...world.provider.errorLabels()];
      make(world);
      await world.pass(31_000);

      expect(before).toEqual(['small']);
      expect([...world.provider.errorLabels()]).toEqual([]);
      expect(world.provider.conditions?.()).toEqual([]);
      expect(world.lines.filter(({ message }) => message.startsWith('Label cannot be used'))).toHaveLength(1);
      expect(world.lines.map(({ message }) => message)).toContain('Label can be used again');
    },
  );

  it('is known after the first launch that fails for it, and gone 30 s after the image is back', async () => {
    await setUp();
    await world.launchReady();
    const { images } = world.cloud.state;
    images.clear();
    await world.pass(3_000_000);

    const { state } = await world.during(world.launch());
    await world.pass(1_000);
    const missing = world.provider.conditions?.();
    await world.pass(1_800_000);
    world.cloud.state.addImage('debian');
    await world.pass(31_000);

    expect(state).toBe('failed');
    expect(missing).toMatchObject([{ name: 'sky/main/small', reason: 'ImageMissing' }]);
    expect(world.provider.conditions?.()).toEqual([]);
    expect(world.provider.labelReady('main', 'small')).toBe(true);
    await world.launchReady();
  });

  it('without its image is not ready, until there is one', async () => {
    await setUp({ entry: { 'cloud-images': [{ name: 'debian', 'image-name': 'plan9' }] } });
    world.provider.labelReady('main', 'small');
    await world.pass(1_000);
    const before = world.provider.labelReady('main', 'small');
    expect(world.provider.conditions?.()).toMatchObject([{ name: 'sky/main/small', reason: 'ImageMissing' }]);
    await world.pass(3_600_000);
    world.cloud.state.addImage('plan9');
    await world.pass(31_000);

    expect([before, world.provider.labelReady('main', 'small')]).toEqual([false, true]);
  });
});

describe('a login that is refused', () => {
  it('is a condition of the provider until Keystone accepts one', async () => {
    await setUp({ cloud: {} });
    world.cloud.password = 'changed';
    world.cloud.state.tokens.clear();
    await world.during(world.launch());
    const refused = world.provider.conditions?.();
    world.cloud.password = 'secret';
    await world.pass(600_000);
    await world.launchReady();

    expect(refused).toMatchObject([{ kind: 'provider', name: 'sky', type: 'LoginRefused', reason: 'Unauthorized' }]);
    expect(refused?.[0]?.message).toMatch(/401/);
    expect(refused?.[0]?.nextStep).toContain('cloud "fake" in clouds.yaml');
    expect(world.provider.conditions?.()).toEqual([]);
  });
});
