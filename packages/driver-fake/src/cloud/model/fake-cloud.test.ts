import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { FakeCloud } from '../../index.js';
import type { CloudRecord, InstanceEvent, InstanceOrder } from '../../index.js';
import { Random } from '@nodepool/core/testing';
import { VirtualClock } from '../../../test/virtual-clock.js';

const order: InstanceOrder = { name: 'np1', minRam: 2048, image: 'any', az: null, metadata: { nodepool_node_id: '1' } };

function setUp(settings: JsonObject = {}, seed = 1) {
  const clock = new VirtualClock();
  const records = new Map<string, CloudRecord>();
  const cloud = new FakeCloud({ clock, random: new Random(seed).next, settings, records });
  const events: InstanceEvent[] = [];
  cloud.onChange((event) => events.push(event));
  return { clock, cloud, events, records };
}

describe('a cloud without settings', () => {
  it('has an instance running in the answer, and gone in the answer to its deletion', () => {
    const { cloud, clock, events } = setUp();

    const made = cloud.create(order);
    const gone = cloud.remove(made.id);

    expect(made).toMatchObject({ status: 'active', address: 'np1.fake', flavor: 'small', ram: 2048 });
    expect(made.metadata).toEqual({ nodepool_node_id: '1' });
    expect(gone).toBe(true);
    expect(events.map(({ instance }) => instance?.status ?? null)).toEqual(['active', null]);
    expect(cloud.usage).toEqual({ instances: 0, cores: 0, ram: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('makes up flavors and images that a configuration of another cloud names', () => {
    const { cloud } = setUp();

    const byName = cloud.create({ ...order, minRam: 0, flavor: 'm1.special', image: 'ubuntu' });
    const bySize = cloud.create({ ...order, minRam: 8000, flavor: 'Performance' });

    expect(byName.flavor).toBe('m1.special');
    expect(bySize).toMatchObject({ flavor: 'Performance', ram: 8000, cores: 4 });
  });

  it('says not-found for an instance that does not exist', () => {
    const { cloud } = setUp();

    expect(() => cloud.remove('i-none')).toThrow(expect.objectContaining({ kind: 'not-found' }));
  });
});

describe('quota', () => {
  it('refuses what does not fit and names the resource', () => {
    const { cloud } = setUp({ quota: { instances: 2, ram: 5000, cores: -1 } });
    cloud.create(order);
    cloud.create(order);

    expect(() => cloud.create(order)).toThrow('quota exceeded for instances: 1 requested, 0 free');
    cloud.set('quota.instances', -1);
    expect(() => cloud.create(order)).toThrow('quota exceeded for ram: 2048 requested, 904 free');
  });

  it('counts an instance until it is gone', async () => {
    const { cloud, clock } = setUp({ quota: { instances: 1 }, 'delete-time': 5 });
    cloud.remove(cloud.create(order).id);

    expect(() => cloud.create(order)).toThrow(expect.objectContaining({ kind: 'quota' }));
    await clock.advance(5_000);

    expect(cloud.create(order).status).toBe('active');
  });
});

describe('a cloud that fails', () => {
  it.each([
    ['quota', 'quota'],
    ['capacity', 'capacity'],
  ])('refuses to create with %s', (failure, kind) => {
    const { cloud } = setUp({ failures: { [failure]: 1 } });

    expect(() => cloud.create(order)).toThrow(expect.objectContaining({ kind }));
    expect(cloud.usage.instances).toBe(0);
  });

  it('fails at about the rate asked for', () => {
    const { cloud } = setUp({ failures: { capacity: 0.25 } });
    let failed = 0;

    for (let i = 0; i < 4_000; i++) {
      try {
        cloud.create(order);
      } catch {
        failed++;
      }
    }

    expect(failed).toBeGreaterThan(900);
    expect(failed).toBeLessThan(1_100);
  });

  it('never ends a deletion, or refuses it', async () => {
    const { cloud, clock } = setUp({ failures: { 'delete-stuck': 1 } });
    const stuck = cloud.create(order);
    cloud.remove(stuck.id);
    await clock.advance(1e9);
    cloud.set('failures', { 'delete-error': 1 });
    const other = cloud.create(order);

    expect(cloud.get(stuck.id)?.status).toBe('deleting');
    expect(() => cloud.remove(other.id)).toThrow(expect.objectContaining({ kind: 'failed' }));
  });
});

describe('settings', () => {
  it('are applied from a configuration once: manual changes stay until it changes', () => {
    const { cloud } = setUp();
    cloud.configure('provider', { 'create-time': 1 });
    cloud.set('create-time', 9);

    const again = cloud.configure('provider', { 'create-time': 1 });
    const byHand = cloud.settingsJson;
    const changed = cloud.configure('provider', { 'create-time': 2 });

    expect([again, changed]).toEqual([false, true]);
    expect(byHand).toEqual({ 'create-time': 9 });
    expect(cloud.settingsJson).toEqual({ 'create-time': 2 });
  });

  it.each([
    ['failures.quota', 2, 'expected a rate'],
    ['failures.nonsense', 1, 'no setting of the cloud'],
    ['create-time', -1, 'expected seconds'],
    ['create-time', { uniform: [2, 1] }, 'expected seconds'],
    ['quota.instances', -2, 'or -1 for no limit'],
    ['ssh.address', '0.0.0.0', 'expected a loopback address'],
    ['__proto__.polluted', 1, 'is no setting'],
    ['flavors', 'big', 'must be a list'],
  ])('reject %s = %j and stay unchanged', (path, value, message) => {
    const { cloud } = setUp({ 'create-time': 3 });

    expect(() => cloud.set(path, value)).toThrow(message);
    expect(cloud.settingsJson).toEqual({ 'create-time': 3 });
  });

  it('name the zones, which instances without one are spread over', () => {
    const { cloud } = setUp({ 'availability-zones': ['a', 'b'] });

    const zones = [1, 2, 3].map(() => cloud.create(order).az);

    expect(zones).toEqual(['a', 'b', 'a']);
    expect(() => cloud.create({ ...order, az: 'c' })).toThrow('availability zone "c" does not exist: there are a, b');
  });

  it('make flavors and images strict when they are listed', () => {
    const { cloud } = setUp({ flavors: [{ name: 'one', ram: 1024, cores: 1 }], images: ['debian'] });

    expect(() => cloud.create(order)).toThrow('flavor with 2048 MiB does not exist');
    expect(() => cloud.create({ ...order, minRam: 1000 })).toThrow('image "any" does not exist');
    expect(cloud.create({ ...order, minRam: 1000, image: 'debian' }).flavor).toBe('one');
  });
});

describe('the state', () => {
  it('can be rebuilt from its records, and time continues', async () => {
    const settings = { 'create-time': 10, 'delete-time': 10, failures: { hide: 0.5 } };
    const { cloud, clock, records } = setUp(settings);
    const ids = [1, 2, 3, 4].map(() => cloud.create(order).id);
    await clock.advance(10_000);
    cloud.remove(ids[0] ?? '');
    cloud.kill(ids[1] ?? '');
    const image = cloud.upload('debian', { nodepool_build_id: '1' });
    cloud.receiveImage(image.id, 1, true);
    cloud.configure('provider', { 'create-time': 5 });
    cloud.stop();

    const shown = [...cloud.list()];
    const later = new FakeCloud({ clock, random: new Random(2).next, records: new Map(records) });
    const restored = [...later.list()];
    const made = later.create(order);
    await clock.advance(10_000);

    expect(restored).toEqual(shown);
    expect(later.settingsJson).toEqual({ 'create-time': 5 });
    expect(later.configure('provider', { 'create-time': 5 })).toBe(false);
    expect(later.images()).toEqual([{ id: image.id, name: 'debian', metadata: { nodepool_build_id: '1' } }]);
    expect(ids).not.toContain(made.id);
    expect(later.get(ids[0] ?? '')).toBeUndefined();
    expect(later.get(made.id)?.status).toBe('active');
    expect(later.usage.instances).toBe(3);
  });
});
