import { describe, expect, it } from 'vitest';
import { DATABASE_ID, type World } from '../test/support/world.js';
import { secondNetwork, useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));

const OURS = {
  nodepool_provider_name: 'sky',
  nodepool_node_id: '0000009999',
  nodepool_database_id: DATABASE_ID,
};

describe('floating IPs', () => {
  const onPrivate = {
    pool: { networks: ['private'] },
    cloud: { networks: [{ name: 'private', routes_externally: false }] },
  };

  it('are made, marked as ours, attached, and deleted with the node', async () => {
    await setUp(onPrivate);
    const node = await world.launchReady();
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
      await world.launchReady();
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
    const node = await world.launchReady();
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
    const description = JSON.stringify(OURS);
    const ours = world.cloud.state.addFloatingIp({ description });
    world.cloud.state.addFloatingIp({ description: 'web server' });
    const { nodepool_database_id: _id, ...unproven } = OURS;
    world.cloud.state.addFloatingIp({ description: JSON.stringify(unproven) });
    const node = await world.launchReady();

    expect(node.publicIpv4).toBe(ours.address);
    expect(world.cloud.state.floatingIps.size).toBe(3);
    expect(world.cloud.count('POST', /floatingips/)).toBe(0);
  });

  it('that are taken from under our hands are left, and another is made', async () => {
    await setUp(onPrivate);
    const description = JSON.stringify(OURS);
    const ours = world.cloud.state.addFloatingIp({ description });
    world.cloud.faults.push({
      method: 'PUT',
      path: /floatingips/,
      times: 1,
      status: 412,
      body: 'RevisionNumberConstraintFailed',
    });
    const node = await world.launchReady();

    expect(node.publicIpv4).not.toBe(ours.address);
    expect(world.cloud.count('POST', /floatingips/)).toBe(1);
  });

  it('make the request wait when their quota is used up', async () => {
    await setUp(onPrivate);
    world.cloud.state.quota.floatingip = 0;

    const { state } = await world.during(world.launch());

    expect(state).toBe('aborted');
  });

  it('that the original has made, without a mark, are deleted with their node', async () => {
    await setUp(onPrivate);
    const node = await world.launchReady();
    const [ip] = world.cloud.state.floatingIps.values();
    if (ip) ip.description = '';
    const foreign = world.cloud.state.addPort('net-private', { deviceId: 'other-server', deviceOwner: 'compute:nova' });
    const kept = [
      world.cloud.state.addFloatingIp({ portId: foreign.id, status: 'ACTIVE' }).id,
      world.cloud.state.addFloatingIp().id,
    ];

    await world.during(world.cleanUp(node));

    expect([...world.cloud.state.floatingIps.keys()]).toEqual(kept);
  });

  it('that the original has made are deleted with a leaked server', async () => {
    await setUp(onPrivate);
    const node = await world.launchReady();
    for (const ip of world.cloud.state.floatingIps.values()) ip.description = '';
    world.nodes.delete(node.id);

    await world.findLeaks();

    expect([world.cloud.state.servers.size, world.cloud.state.floatingIps.size]).toEqual([0, 0]);
  });

  it('of a server that is not ours are not deleted, whatever a record says', async () => {
    await setUp(onPrivate);
    const node = await world.launchReady();
    const [server] = world.cloud.state.servers.values();
    for (const ip of world.cloud.state.floatingIps.values()) ip.description = '';
    if (server) Object.assign(server.metadata, { nodepool_provider_name: 'another' });

    await world.during(world.cleanUp(node));

    expect(world.cloud.state.floatingIps.size).toBe(1);
  });

  it('without an answer are not made twice', async () => {
    await setUp(onPrivate);
    world.cloud.faults.push({ method: 'POST', path: /floatingips/, times: 1, after: true, reset: true });
    await world.launchReady();

    expect(world.cloud.state.floatingIps.size).toBe(1);
  });

  it('that a launcher which is gone has ordered meanwhile are used, with their server', async () => {
    await setUp(onPrivate);
    const body = 'Cannot associate floating IP with port, as that fixed IP already has a floating IP.';
    world.cloud.faults.push({ method: 'POST', path: /floatingips/, times: 1, after: true, status: 409, body });
    const node = await world.launchReady();

    const [ip] = world.cloud.state.floatingIps.values();
    expect(node.publicIpv4).toBe(ip?.address);
    expect(world.cloud.state.floatingIps.size).toBe(1);
    expect(world.cloud.count('POST', /servers$/)).toBe(1);
  });
});
