import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { text } from './fake/http.js';
import { ProviderWorld, type WorldOptions } from './support/provider-world.js';

let world: ProviderWorld;

async function setUp(
  options: WorldOptions = {},
  before: (made: ProviderWorld) => void = () => undefined,
): Promise<ProviderWorld> {
  world = new ProviderWorld(options);
  before(world);
  return world.start();
}

afterEach(async () => {
  await world.end();
});

const servers = () => [...world.cloud.state.servers.values()];
const ready = async () => {
  const { state, node, error } = await world.during(world.launch());
  if (state !== 'ready') throw error ?? new Error(state);
  return node;
};
const secondNetwork = (made: ProviderWorld) =>
  void made.cloud.state.networks.push({ id: 'net-2', name: 'storage', 'router:external': false, subnets: [] });

describe('the order for a server', () => {
  it('has everything the label, pool and image say', async () => {
    const label = {
      ...{ 'key-name': 'ci', userdata: 'hällo', networks: ['public', 'net-2'], 'server-group': 'spread' },
      'instance-properties': { team: 'infra', groups: 'mine', size: 3, nodepool_node_id: 'forged' },
      'dynamic-instance-properties': {
        tenant: '{request.tenant_name}',
        who: '{request.requestor_data[a]}',
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
        ...{ groups: 'mine', team: 'infra', size: '3', tenant: 'acme', who: "[1, 'b']", nodepool_image_name: 'debian' },
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
    await ready();

    expect(servers()[0]?.flavorId).toBe(flavor);
  });

  it('leaves the network to Nova where none is named, with the version of the API that can', async () => {
    await setUp({ pool: { networks: [] } });
    await ready();

    expect(servers()[0]?.microversion).toBe('compute 2.37');
  });

  it('takes the default interface of clouds.yaml for the network', async () => {
    await setUp({ pool: { networks: [] }, cloud: { networks: [{ name: 'public', default_interface: true }] } });
    await ready();

    expect([...world.cloud.state.ports.values()].map(({ networkId }) => networkId)).toEqual(['net-public']);
  });

  it('boots from a volume that goes with the server, and is marked as ours', async () => {
    await setUp({ label: { 'boot-from-volume': true, 'volume-size': 80, 'volume-type': 'fast' } });
    const node = await ready();
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
    await ready();

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
    const node = await ready();

    expect(node).toMatchObject({
      ...{
        az: 'north',
        cloud: 'fake',
        region: 'RegionOne',
        username: 'zuul',
        publicIpv4: expect.stringMatching(/^198\.51\./) as unknown,
      },
      resources: { instances: 1, cores: 1, ram: 2_048, ports: 1 },
    });
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

describe('floating IPs', () => {
  const onPrivate = {
    pool: { networks: ['private'] },
    cloud: { networks: [{ name: 'private', routes_externally: false }] },
  };

  it('are made, marked as ours, attached, and deleted with the node', async () => {
    await setUp(onPrivate);
    const node = await ready();
    const [ip] = world.cloud.state.floatingIps.values();

    expect(node.publicIpv4).toBe(ip?.address);
    expect(node.interfaceIp).toBe(ip?.address);
    expect(JSON.parse(ip?.description ?? '')).toMatchObject({
      nodepool_provider_name: 'sky',
      nodepool_node_id: node.id,
    });
    await world.during(world.cleanUp(node));
    expect(world.cloud.state.floatingIps.size).toBe(0);
  });

  it('are not made for servers that have a public address, for private clouds, and where there are none', async () => {
    for (const cloud of [
      {},
      { ...onPrivate.cloud, private: true },
      { ...onPrivate.cloud, floating_ip_source: 'None' },
    ]) {
      await setUp(Object.keys(cloud).length === 0 ? {} : { ...onPrivate, cloud });
      await ready();
      expect(world.cloud.state.floatingIps.size).toBe(0);
      await world.end();
    }
  });

  it.each([
    ['the only network', ['private']],
    ['the network behind the router', ['private', 'storage']],
    ['the network behind the router, whichever port is newer', ['storage', 'private']],
  ])('lead to %s, in whatever order the cloud shows its networks', async (_what, networks) => {
    const hints = ['private', 'storage'].map((name) => ({ name, routes_externally: false }));
    await setUp({ pool: { networks }, cloud: { networks: hints } }, (made) => {
      secondNetwork(made);
      made.cloud.state.subnets.push({ id: 'sub-2', network_id: 'net-2', ip_version: 4, gateway_ip: '10.2.0.1' });
      made.cloud.state.networks.reverse();
    });
    const node = await ready();
    const [ip] = world.cloud.state.floatingIps.values();

    expect(world.cloud.state.ports.get(ip?.portId ?? '')?.networkId).toBe('net-private');
    expect(node.publicIpv4).toBe(ip?.address);
  });

  it('lead to the network that is named for them, and without a port there the launch says why', async () => {
    const inside = { name: 'private', routes_externally: false };
    const cloud = { networks: [inside, { ...inside, name: 'public', nat_destination: true }] };
    await setUp({ pool: { networks: ['private', 'net-2'] }, cloud, entry: { 'launch-retries': 1 } }, secondNetwork);

    const { error } = await world.during(world.launch());

    expect(error?.message).toContain('those in private, storage; nat_destination is "public"');
  });

  it('of ours that are free are used again, those of others never', async () => {
    await setUp(onPrivate);
    const description = JSON.stringify({ nodepool_provider_name: 'sky', nodepool_node_id: '0000009999' });
    const ours = world.cloud.state.addFloatingIp({ description });
    world.cloud.state.addFloatingIp({ description: 'web server' });
    const node = await ready();

    expect(node.publicIpv4).toBe(ours.address);
    expect(world.cloud.state.floatingIps.size).toBe(2);
    expect(world.cloud.count('POST', /floatingips/)).toBe(0);
  });

  it('that are taken from under our hands are left, and another is made', async () => {
    await setUp(onPrivate);
    const description = JSON.stringify({ nodepool_provider_name: 'sky', nodepool_node_id: '0000009999' });
    const ours = world.cloud.state.addFloatingIp({ description });
    world.cloud.faults.push({
      method: 'PUT',
      path: /floatingips/,
      times: 1,
      status: 412,
      body: 'RevisionNumberConstraintFailed',
    });
    const node = await ready();

    expect(node.publicIpv4).not.toBe(ours.address);
    expect(world.cloud.count('POST', /floatingips/)).toBe(1);
  });

  it('make the request wait when their quota is used up', async () => {
    await setUp(onPrivate);
    world.cloud.state.quota.floatingip = 0;

    const { state } = await world.during(world.launch());

    expect(state).toBe('aborted');
  });

  it('without an answer are not made twice', async () => {
    await setUp(onPrivate);
    world.cloud.faults.push({ method: 'POST', path: /floatingips/, times: 1, after: true, reset: true });
    await ready();

    expect(world.cloud.state.floatingIps.size).toBe(1);
  });
});

describe('a server that is ACTIVE just as its launch times out', () => {
  it('is used', async () => {
    await setUp({ entry: { 'launch-timeout': 30 } }, ({ cloud }) => (cloud.state.knobs.bootMs = 29_950));
    const node = await ready();

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

describe('failures of a launch', () => {
  it.each([
    ['Quota exceeded for cores: Requested 1', 'aborted', 'error.quota'],
    ['Build aborted: VolumeSizeExceedsAvailableQuota: exceeds allowed gigabytes quota', 'aborted', 'error.quota'],
    ['Maximum number of ports exceeded', 'aborted', 'error.quota'],
    ['No valid host was found.', 'failed', 'error.capacity'],
    ['Build of instance aborted: libvirt is angry', 'failed', 'error.status'],
  ])('a server in ERROR with "%s" ends %s, counted as %s, and is deleted', async (fault, state, counted) => {
    await setUp({ entry: { 'launch-retries': 1 } });
    world.cloud.state.knobs.hidesFaults = true; // it has to be read by id
    world.cloud.state.fates.push(fault);

    const result = await world.during(world.launch());

    expect(result.state).toBe(state);
    expect(world.counted).toEqual([counted]);
    expect(result.node.externalId).toBe(servers()[0]?.id);
    await world.during(world.cleanUp(result.node));
    expect(servers()).toEqual([]);
  });

  it('a zone without room is left for another, and for a while not asked again', async () => {
    await setUp(
      { pool: { 'availability-zones': ['north', 'south'] } },
      ({ cloud }) => (cloud.state.zones = ['north', 'south']),
    );
    world.cloud.state.fates.push('No valid host was found.');
    const first = await ready();
    const second = await ready();
    await world.pass(60_000);
    const third = await ready();

    expect([first.az, second.az, third.az]).toEqual(['south', 'south', 'north']);
  });

  it('nodes of one request stay in their zone all the same', async () => {
    await setUp(
      { pool: { 'availability-zones': ['north', 'south'] } },
      ({ cloud }) => (cloud.state.zones = ['north', 'south']),
    );
    world.cloud.state.fates.push('No valid host was found.');

    const { state, node } = await world.during(world.launch({ labels: ['small', 'small'] }));

    expect([state, node.az]).toEqual(['ready', 'north']);
  });

  it('a cloud that had no room is asked again by each further attempt, and by none of another launch', async () => {
    await setUp({ entry: { 'launch-retries': 2 } });
    world.cloud.state.fates.push('No valid host was found.', 'No valid host was found.');
    const orders = () => world.cloud.count('POST', /compute\/servers$/);

    const first = await world.during(world.launch());
    const ordersOfFirst = orders();
    const second = await world.during(world.launch());

    expect([first.state, ordersOfFirst]).toEqual(['failed', 2]);
    expect([second.state, orders()]).toEqual(['ready', 3]);
    expect(world.counted).toEqual(['error.capacity', 'error.capacity', 'error.capacity', 'ready']);
  });

  it('with [null] the cloud chooses the zone', async () => {
    await setUp({ pool: { 'availability-zones': [null] } }, ({ cloud }) => (cloud.state.zones = ['north', 'south']));
    const node = await ready();

    expect(world.cloud.calls.find(({ path }) => path === '/os-availability-zone')).toBeUndefined();
    expect(node.az).toBe('north');
  });

  it('a flavor, image or network that is gone has everything read anew, and the order made once more', async () => {
    await setUp();
    await ready();
    const [image] = [...world.cloud.state.images.values()];
    world.cloud.state.images.delete(text(image?.['id']));
    const next = world.cloud.state.addImage('debian');
    const node = await ready();

    expect(world.cloud.state.servers.get(text(node.externalId))?.imageId).toBe(next['id']);
    expect(world.counted).toEqual(['ready', 'ready']);
  });

  it('an order without an answer is looked for, and not made twice', async () => {
    await setUp({}, ({ cloud }) => (cloud.state.knobs.bootMs = 5_000));
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, after: true, status: 502 });
    const node = await ready();

    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
    expect(world.counted).toEqual(['ready']);
  });

  it('a server that is deleted behind our back is another attempt', async () => {
    await setUp({}, ({ cloud }) => (cloud.state.knobs.bootMs = 5_000));
    const launched = world.launch();
    await world.pass(1_000);
    world.cloud.state.removeServer(servers()[0]?.id ?? '');

    const { state } = await world.during(launched);

    expect(state).toBe('ready');
    expect(world.counted).toEqual(['error.status', 'ready']);
  });
});

describe('what is wrong with a label', () => {
  it.each([
    ['flavor', { 'flavor-name': 'm9.none', 'min-ram': 0 }, /flavor-name "m9\.none"; it has m1\.tiny/],
    ['network', { networks: ['nowhere'] }, /network "nowhere" does not exist.*private, public/],
    ['network with two', { networks: ['storage'] }, /"storage" is the name of several \(net-2, net-3\)/],
    ['image', { 'cloud-image': 'plan9' }, /no active image with the name or id "plan9"; it has debian/],
    ['server group', { 'server-group': 'none' }, /server group "none" does not exist.*spread/],
  ])('a missing %s is named, and the label is one that cannot work', async (_what, label, message) => {
    await setUp({ label, entry: { 'cloud-images': [{ name: 'debian' }, { name: 'plan9' }] } }, (made) => {
      secondNetwork(made);
      made.cloud.state.networks.push({ id: 'net-3', name: 'storage', 'router:external': false, subnets: [] });
    });

    expect([...world.provider.errorLabels()]).toEqual(['small']);
    const line = world.lines.find(({ message: text }) => text.startsWith('Label cannot be used')) as unknown as {
      fields: { error: Error };
    };
    expect(line.fields.error.message).toMatch(message);
  });

  it('is looked at again: it may have been corrected', async () => {
    await setUp({ label: { 'flavor-name': 'm9.new', 'min-ram': 0 } });
    world.cloud.state.flavors.push({ id: 'f-9', name: 'm9.new', vcpus: 1, ram: 100 });
    await world.pass(2 * 3_600_000);

    expect([...world.provider.errorLabels()]).toEqual([]);
  });

  it('without its image is not ready, until there is one', async () => {
    await setUp({ entry: { 'cloud-images': [{ name: 'debian', 'image-name': 'plan9' }] } });
    world.provider.labelReady('main', 'small');
    await world.pass(1_000);
    const before = world.provider.labelReady('main', 'small');
    world.cloud.state.addImage('plan9');
    await world.pass(900_000);

    expect([before, world.provider.labelReady('main', 'small')]).toEqual([false, true]);
  });
});

describe('deletions', () => {
  it('end at once for what is gone already', async () => {
    await setUp();
    const node = await ready();
    world.cloud.state.removeServer(text(node.externalId));
    const callsBefore = world.cloud.calls.length;

    await world.during(world.cleanUp(node));

    const calls = world.cloud.calls.slice(callsBefore).map(({ method, service }) => `${method} ${service}`);
    expect(calls).toEqual(['GET network', 'DELETE compute']);
  });

  it('that are refused are repeated with pauses, and the log says what is in the way', async () => {
    await setUp();
    const node = await ready();
    world.cloud.faults.push({
      method: 'DELETE',
      times: 3,
      status: 409,
      body: 'Cannot delete while task_state is migrating',
    });

    await world.during(world.cleanUp(node));

    expect(servers()).toEqual([]);
    const lines = world.lines.filter(({ message }) => message.startsWith('The cloud refuses to delete'));
    expect(lines).toHaveLength(3);
    expect(lines[0]?.fields).toMatchObject({
      status: 'ACTIVE',
      error: expect.objectContaining({ kind: 'conflict' }) as unknown,
    });
  });

  it('without an answer are watched, not asked for again', async () => {
    await setUp({ cloud: { api_timeout: 5 } }, ({ cloud }) => (cloud.state.knobs.deleteMs = 20_000));
    const node = await ready();
    world.cloud.faults.push({ method: 'DELETE', times: 1, delayMs: 10_000 });

    await world.during(world.cleanUp(node));

    expect(servers()).toEqual([]);
    expect(world.cloud.count('DELETE', /compute/)).toBe(1);
  });

  it('that end in ERROR are asked for again', async () => {
    await setUp();
    const node = await ready();
    const server = servers()[0];
    world.cloud.faults.push({ method: 'DELETE', times: 1, status: 204, body: '' });
    if (server) Object.assign(server, { status: 'ERROR', fault: 'destroy failed' });

    await world.during(world.cleanUp(node));

    expect(servers()).toEqual([]);
    expect(world.cloud.count('DELETE', /compute/)).toBe(2);
  });

  it('two hundred of them, each as slow as a minute, do not delay a list', async () => {
    await setUp({ cloud: { api_timeout: 120 } });
    const made = await world.during(Promise.all(Array.from({ length: 200 }, () => world.launch())));
    world.cloud.faults.push({ method: 'DELETE', path: /compute/, delayMs: 60_000 });
    const deletions = made.map(({ node }) => world.cleanUp(node));
    await world.pass(1_000);
    const from = world.clock?.now() ?? 0;

    const next = await world.during(world.launch());

    expect(next.state).toBe('ready');
    expect((world.clock?.now() ?? 0) - from).toBeLessThan(5_000);
    await world.during(Promise.all(deletions));
  });
});
