// A project full of other people's resources, in a cloud that ignores every filter: none of them is lost.
import { afterEach, describe, expect, it } from 'vitest';
import { DATABASE_ID, World, type WorldOptions } from '../test/support/world.js';
import { text } from '../test/fake/http.js';
import type { FakePort } from '../test/fake/state.js';

let world: World;
afterEach(async () => {
  await world.end();
});

const NAMED = { nodepool_provider_name: 'sky', nodepool_node_id: '0000009999', nodepool_pool_name: 'main' };
const OURS = { ...NAMED, nodepool_database_id: DATABASE_ID };
/** Of another database, whose nodes have the same numbers. */
const OTHERS = { ...NAMED, nodepool_node_id: '0000000001', nodepool_database_id: 'f'.repeat(32) };
const onVolume = { label: { 'boot-from-volume': true }, pool: { networks: ['private'] } };
const IMAGES = { diskimages: [{ name: 'build' }], 'cloud-images': [{ name: 'debian' }] };

async function setUp(options: WorldOptions = onVolume): Promise<World> {
  world = new World({ ...options, entry: { ...IMAGES, ...options.entry } });
  world.cloud.state.knobs.ignoresFilters = true;
  return world.start();
}

const everything = () => {
  const { servers, ports, floatingIps, volumes, images } = world.cloud.state;
  return [servers, ports, floatingIps, volumes, images].flatMap((map) => [...map.keys()]).sort();
};

function addServer(id: string, metadata: Record<string, string>): void {
  world.cloud.state.servers.set(id, {
    ...{
      id,
      name: 'np0000000001',
      status: 'ERROR',
      taskState: null,
      metadata,
      flavorId: 'f-2',
      imageId: 'x',
      zone: 'nova',
    },
    ...{
      keyName: null,
      userData: undefined,
      configDrive: false,
      securityGroups: [],
      hints: {},
      microversion: undefined,
    },
    ...{ devices: [], volumeIds: [], createdMs: 0, fault: 'No valid host' },
  });
}

function addForeign(): void {
  const { state } = world.cloud;
  addServer('foreign-1', {});
  addServer('foreign-2', { nodepool_provider_name: 'other', nodepool_node_id: '0000000001' });
  addServer('foreign-3', { nodepool_node_id: '0000000001' });
  addServer('unproven', NAMED);
  addServer('others', OTHERS);
  const ports: Partial<FakePort>[] = [
    { status: 'DOWN', deviceOwner: '' },
    { status: 'DOWN', deviceOwner: 'compute:nova', deviceId: 'unknown-server' },
    { status: 'DOWN', deviceOwner: 'compute:nova', vnicType: 'baremetal' },
    { status: 'DOWN', deviceOwner: 'network:router_interface' },
    { status: 'ACTIVE', deviceOwner: 'compute:nova', deviceId: 'foreign-1' },
  ];
  for (const port of ports) state.addPort('net-private', port);
  const marks = [
    '{"nodepool_provider_name":"other"}',
    '{"nodepool_provider_name"',
    ...[NAMED, OTHERS].map((tags) => JSON.stringify(tags)),
  ];
  for (const description of ['', 'web', ...marks]) state.addFloatingIp({ description });
  const owners = [{ nodepool_provider_name: '' }, { nodepool_provider_name: 'other' }, NAMED, OTHERS];
  for (const [i, metadata] of owners.entries()) {
    state.volumes.set(`foreign-volume-${i}`, {
      id: `foreign-volume-${i}`,
      size: 1,
      status: 'available',
      metadata,
      serverId: undefined,
      keep: true,
    });
  }
  state.addImage('foreign', { visibility: 'private' });
  for (const tags of [NAMED, OTHERS]) {
    const { nodepool_node_id: _node, ...owner } = tags;
    state.addImage('named', { ...owner, nodepool_build_id: 'b', nodepool_upload_id: 'u' });
  }
  state.addImage('other', { nodepool_provider_name: 'other', nodepool_build_id: 'b', nodepool_upload_id: 'u' });
}

describe('what belongs to others', () => {
  it('is still there after nodes were made and deleted and leaks looked for', async () => {
    await setUp();
    addForeign();
    const before = everything();

    const made = await world.during(Promise.all([0, 1, 2].map(() => world.launch())));
    await world.findLeaks(3);
    for (const { node } of made) await world.during(world.cleanUp(node));
    await world.findLeaks(30);

    expect(made.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
    expect(everything()).toEqual(before);
  });

  it('is not adopted when an answer is lost and the name filter ignored', async () => {
    await setUp();
    addForeign();
    const foreign = new Set(world.cloud.state.servers.keys());
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, after: true, reset: true });

    const { node, state } = await world.during(world.launch());

    expect(state).toBe('ready');
    expect(foreign.has(text(node.externalId))).toBe(false);
  });
});

describe('what is ours and left', () => {
  it('is deleted once it was seen twice, and counted', async () => {
    await setUp();
    const { state } = world.cloud;
    addServer('ours', OURS);
    state.addFloatingIp({ description: JSON.stringify(OURS) });
    state.volumes.set('v', { id: 'v', size: 1, status: 'available', metadata: OURS, serverId: undefined, keep: true });
    const before = everything().length;
    await world.findLeaks(1);
    const afterOne = everything().length;

    await world.findLeaks(1);

    expect(afterOne).toBe(before);
    expect(world.counted.sort()).toEqual(['leaked floatingips', 'leaked instances', 'leaked volumes']);
    expect([state.servers.size, state.floatingIps.size, state.volumes.size]).toEqual([0, 0, 0]);
  });

  it.each(['reserved', 'deleting', 'attaching'])(
    'a volume that stays %s needs a hand, and is named',
    async (status) => {
      await setUp(onVolume);
      const { volumes } = world.cloud.state;
      const volume = { id: 'v-9', size: 1, status, metadata: OURS, serverId: undefined, keep: true };
      volumes.set('v-9', volume);
      await world.findLeaks(5);
      const early = world.provider.leakedResources?.();
      await world.findLeaks(7);
      const late = world.provider.leakedResources?.();
      volume.status = 'available';
      await world.findLeaks(2);

      expect(early).toMatchObject([{ type: 'volume', id: 'v-9', error: undefined }]);
      expect(late?.[0]?.error).toMatch(new RegExp(`^its status stays "${status}": .*reset-state.* v-9`));
      expect([world.cloud.count('DELETE', /volumes/), volumes.size]).toEqual([1, 0]);
    },
  );

  it('a volume of a server that does not exist needs a hand; one of a server that does is in use', async () => {
    await setUp(onVolume);
    const { volumes } = world.cloud.state;
    addServer('there', {});
    for (const serverId of ['there', 'lost']) {
      volumes.set(`v-${serverId}`, {
        id: `v-${serverId}`,
        size: 1,
        status: 'in-use',
        metadata: OURS,
        serverId,
        keep: true,
      });
    }
    await world.findLeaks(12);

    expect(world.provider.leakedResources?.()).toMatchObject([
      { id: 'v-lost', error: expect.stringMatching(/attached to server lost, which does not exist/) as string },
    ]);
  });

  it.each([
    ['that was in a list', 1],
    ['that was read by itself alone', 0],
  ])('a port of a former server of ours %s goes when it was down for the interval', async (_what, lists) => {
    await setUp({ entry: { 'port-cleanup-interval': 300 } });
    const { node } = await world.during(world.launch());
    await world.findLeaks(lists);
    const deviceId = text(node.externalId);
    await world.during(world.cleanUp(node));
    const port = world.cloud.state.addPort('net-private', { deviceId, deviceOwner: 'compute:nova', status: 'DOWN' });
    await world.findLeaks(4);
    const early = world.cloud.state.ports.has(port.id);
    await world.findLeaks(4);

    expect([early, world.cloud.state.ports.has(port.id)]).toEqual([true, false]);
    expect(world.counted).toContain('leaked ports');
  });

  it('a port of a server that exists stays, although lists leave the server out', async () => {
    await setUp({ entry: { 'port-cleanup-interval': 300 } });
    const { node } = await world.during(world.launch());
    await world.findLeaks(1);
    const deviceId = text(node.externalId);
    world.cloud.state.unlisted.add(deviceId);
    const port = world.cloud.state.addPort('net-private', { deviceId, deviceOwner: 'compute:nova', status: 'DOWN' });
    await world.findLeaks(10);

    expect(world.cloud.state.ports.has(port.id)).toBe(true);
  });

  it('with an interval of 0 ports are never looked at', async () => {
    await setUp({ entry: { 'port-cleanup-interval': 0 } });
    await world.during(world.launch());
    await world.findLeaks(20);

    expect(world.cloud.calls.filter(({ path, query }) => path === '/v2.0/ports' && query.includes('DOWN'))).toEqual([]);
  });

  it('clean-floating-ips takes every unattached one at the second look, and says so beforehand', async () => {
    await setUp({ entry: { 'clean-floating-ips': true } });
    const used = world.cloud.state.addPort('net-private');
    const attached = world.cloud.state.addFloatingIp({ portId: used.id, status: 'ACTIVE' });
    world.cloud.state.addFloatingIp({ description: 'web' });
    await world.findLeaks(1);
    const afterOne = world.cloud.state.floatingIps.size;
    await world.findLeaks(1);

    expect(world.problems.join()).toContain('of any owner');
    expect(afterOne).toBe(2);
    expect([...world.cloud.state.floatingIps.keys()]).toEqual([attached.id]);
  });
});

describe('what was made before the database had an id', () => {
  const cloud = { networks: [{ name: 'private', routes_externally: false }] };
  const label = { 'boot-from-volume': true };

  it('gets it by the record of its node: server, volume in use and floating IP, which keep what else they say', async () => {
    await setUp({ pool: { networks: ['private'] }, label, cloud });
    const { state } = world.cloud;
    const node = await world.launchReady();
    const [server, volume, ip] = [...state.servers.values(), ...state.volumes.values(), ...state.floatingIps.values()];
    if (!server || !('hints' in server) || !volume || !('size' in volume) || !ip || !('revision' in ip))
      throw new Error();
    const { nodepool_database_id: _server, ...oldServer } = server.metadata;
    const { nodepool_database_id: _volume, ...oldVolume } = volume.metadata;
    const { nodepool_database_id: _ip, ...oldMark } = JSON.parse(ip.description) as Record<string, string>;
    [server.metadata, volume.metadata, ip.description] = [oldServer, oldVolume, JSON.stringify(oldMark)];
    const { portId } = ip;

    await world.findLeaks(1);

    const tag = { nodepool_database_id: DATABASE_ID };
    expect(server.metadata).toEqual({ ...oldServer, ...tag });
    expect(volume.metadata).toEqual({ ...oldVolume, ...tag });
    expect(JSON.parse(ip.description)).toEqual({ ...oldMark, ...tag });
    expect(ip.portId).toBe(portId);
    expect(world.provider.alienResources?.()).toEqual([]);
    await world.during(world.cleanUp(node));
    expect([state.servers.size, state.floatingIps.size]).toEqual([0, 0]);
  });

  it('gets it as a property of an image', async () => {
    await setUp();
    const image = world.cloud.state.addImage('named', { ...NAMED, team: 'infra' });
    const id = text(image['id']);
    const tags = { nodepool_database_id: DATABASE_ID };

    await world.during(
      world.provider.tagResource?.({ type: 'image', id, metadata: NAMED }, tags, new AbortController().signal) ??
        Promise.reject(new Error('nothing can be tagged')),
    );

    expect(world.cloud.state.images.get(id)).toMatchObject({ ...NAMED, ...tags, team: 'infra' });
  });

  it('is listed as alien without a record', async () => {
    await setUp();
    addServer('unproven', NAMED);
    await world.findLeaks(1);

    expect(world.provider.alienResources?.()).toMatchObject([
      { type: 'instance', id: 'unproven', name: 'np0000000001' },
    ]);
    expect(world.lines.some(({ message }) => message.includes('nodepool adopt sky'))).toBe(true);
  });
});
