import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { DATABASE_ID, type World } from '../test/support/world.js';
import { useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));
const left = () => world.provider.quota?.estimatedNodepoolQuota();
const need = () => {
  const pool = world.provider.config.pools.get('main');
  return pool && world.provider.quota?.quotaNeededByLabel('small', pool);
};
const onVolume = { label: { 'boot-from-volume': true, 'volume-size': 20 } };
const OURS = JSON.stringify({ nodepool_provider_name: 'sky', nodepool_database_id: DATABASE_ID });

describe('the share of servers in the quota', () => {
  it('is the part that others do not use: floating IPs, except own free ones, and those of servers, which count for these', async () => {
    await setUp({ pool: { networks: ['private'] } }, ({ cloud: { state } }) => {
      state.quota.floatingip = 6;
      state.addFloatingIp({ description: 'web' });
      state.addFloatingIp({ portId: state.addPort('net-private', { deviceOwner: 'Octavia' }).id });
      state.addFloatingIp({ portId: state.addPort('net-private', { deviceOwner: 'compute:nova' }).id });
      state.addFloatingIp({ description: OURS });
    });

    expect(left()).toMatchObject({ 'floating-ips': 4 });
  });

  it('is no less than nothing where others use more than the limit', async () => {
    await setUp({ pool: { networks: ['private'] } }, ({ cloud: { state } }) => {
      Object.assign(state.quota, { floatingip: 1, port: 1 });
      for (let i = 0; i < 3; i++) {
        state.addFloatingIp({ description: 'web' });
        state.addPort('net-private', { deviceOwner: 'Octavia' });
      }
    });

    expect(left()).toMatchObject({ 'floating-ips': 0, ports: 0 });
  });

  it('is without snapshots and volumes that no server has; those of servers count for these', async () => {
    const volume = { size: 100, metadata: {}, keep: true };
    await setUp(onVolume, ({ cloud: { state } }) => {
      state.volumes.set('free', { ...volume, id: 'free', status: 'available', serverId: undefined });
      state.volumes.set('new', { ...volume, id: 'new', status: 'creating', serverId: undefined });
      state.volumes.set('busy', { ...volume, id: 'busy', status: 'in-use', serverId: 'x' });
      state.knobs.snapshotGb = 50;
    });

    expect(left()).toMatchObject({ volumes: 99, 'volume-gb': 4_000 - 150 });
  });

  it.each(['compute', 'volume', 'network'])('is not limited by %s if it does not tell', async (service) => {
    const path = service === 'network' ? /quotas/ : new RegExp(`${service}/limits`);
    const names = { compute: ['cores', 'ram'], volume: ['volumes', 'volume-gb'], network: ['ports', 'floating-ips'] };
    await setUp({ ...onVolume, pool: { networks: ['private'] } }, ({ cloud }) => {
      Object.assign(cloud.state.quota, { cores: 0, ram: 0, volumes: 0, gigabytes: 0, port: 0, floatingip: 0 });
      cloud.faults.push({ path, status: 403 });
    });
    const known = Object.keys(left() ?? {});

    for (const name of names[service as keyof typeof names]) expect(known).not.toContain(name);
    expect(known).toHaveLength(4);
  });

  it('is asked for every five minutes', async () => {
    await setUp({ pool: { networks: ['private'] } });
    const asked = () => world.cloud.count('GET', /quotas|limits|floatingips/);
    const before = asked();
    for (let i = 0; i < 29; i++) {
      left();
      await world.pass(10_000);
    }

    expect(asked()).toBe(before);
  });
});

describe('what a server needs', () => {
  const cases: [JsonObject, JsonObject, number | undefined][] = [
    [{ networks: ['private'] }, {}, 1],
    [{ networks: ['public'] }, {}, undefined],
    [{ networks: ['private', 'public'] }, {}, undefined],
    [{ networks: ['private'], 'auto-floating-ip': false }, {}, undefined],
    [{ networks: ['private'] }, { private: true }, undefined],
    [{ networks: [] }, {}, undefined], // one of both
  ];

  it.each(cases)('in a pool with %j and a cloud with %j: %j floating IPs', async (pool, cloud, expected) => {
    await setUp({ pool, cloud });

    expect(need()?.['floating-ips']).toBe(expected);
  });

  it('is a floating IP where all networks are inside', async () => {
    await setUp({ pool: { networks: [] } }, ({ cloud }) => void cloud.state.networks.splice(1, 1));

    expect(need()).toMatchObject({ ports: 1, 'floating-ips': 1 });
  });

  it('is none where the addresses of its network are global', async () => {
    await setUp({ pool: { networks: ['private'] } }, ({ cloud }) => {
      Object.assign(cloud.state.subnets[0] ?? {}, { cidr: '8.8.8.0/24' });
    });

    expect(need()).not.toHaveProperty('floating-ips');
  });

  it('is never stored: a launcher of the original would stop making nodes there', async () => {
    await setUp({ pool: { networks: ['private'] } });
    const { resources } = await world.launchReady();

    expect(resources).toEqual({ instances: 1, cores: 1, ram: 2_048 });
  });
});
