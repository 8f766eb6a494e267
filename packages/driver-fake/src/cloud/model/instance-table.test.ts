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

describe('time', () => {
  it('passes while instances are created and deleted', async () => {
    const { cloud, clock } = setUp({ 'create-time': 2, 'delete-time': { uniform: [3, 4] } });

    const { id } = cloud.create(order);
    await clock.advance(1_999);
    const before = cloud.get(id)?.status;
    await clock.advance(1);
    const after = cloud.get(id)?.status;
    const isGone = cloud.remove(id);
    const again = cloud.remove(id);
    await clock.advance(2_999);
    const deleting = cloud.get(id)?.status;
    await clock.advance(1_001);

    expect([before, after, isGone, again, deleting]).toEqual(['building', 'active', false, false, 'deleting']);
    expect(cloud.get(id)).toBeUndefined();
  });

  it('is one timer for ten thousand instances', () => {
    const { cloud, clock } = setUp({ 'create-time': { exponential: 5 } });

    for (let i = 0; i < 10_000; i++) cloud.create(order);

    expect(clock.pendingTimers).toBe(1);
    expect(cloud.usage.instances).toBe(10_000);
  });

  it('gives the same cloud for the same seed', async () => {
    const run = async (seed: number) => {
      const settings = { 'create-time': { exponential: 5 }, failures: { 'error-state': 0.3, vanish: 0.3 } };
      const { cloud, clock, events } = setUp(settings, seed);
      for (let i = 0; i < 50; i++) cloud.create(order);
      await clock.advance(100_000);
      return JSON.stringify(events);
    };

    expect(await run(7)).toBe(await run(7));
    expect(await run(7)).not.toBe(await run(8));
  });
});

describe('an unreliable cloud', () => {
  it('leaves instances in error, or building indefinitely', async () => {
    const { cloud, clock } = setUp({ failures: { 'error-state': 1 } });
    const broken = cloud.create(order);
    cloud.set('failures', { 'never-active': 1 });
    const stuck = cloud.create(order);

    await clock.advance(1e9);

    expect(cloud.get(broken.id)).toMatchObject({ status: 'error', fault: 'the host of the instance failed' });
    expect(cloud.get(stuck.id)?.status).toBe('building');
  });

  it('breaks instances of a broken image, and no others', async () => {
    const { cloud, clock } = setUp();
    const image = cloud.upload('debian-2', {});
    cloud.receiveImage(image.id, 1, true);
    cloud.set('broken-images', [image.id]);

    const broken = cloud.create({ ...order, image: image.id });
    const good = cloud.create(order);
    await clock.advance(0);

    expect([cloud.get(broken.id)?.status, cloud.get(good.id)?.status]).toEqual(['error', 'active']);
  });

  it('makes two instances with one tag', () => {
    const { cloud } = setUp({ failures: { duplicate: 1 } });

    cloud.create(order);

    expect([...cloud.list()].map(({ metadata }) => metadata['nodepool_node_id'])).toEqual(['1', '1']);
  });

  it('lists an instance, then not, then again', async () => {
    const { cloud, clock, events } = setUp({ failures: { hide: 1 }, 'vanish-time': 10, 'hide-time': 5 });
    const { id } = cloud.create(order);

    await clock.advance(10_000);
    const hidden = cloud.get(id);
    const usage = cloud.usage.instances;
    const missing = () => cloud.remove(id);
    expect(missing).toThrow(expect.objectContaining({ kind: 'not-found' }));
    await clock.advance(5_000);

    expect(hidden).toBeUndefined();
    expect(usage).toBe(1);
    expect(events.map(({ instance }) => instance !== null)).toEqual([true, false, true]);
    expect(cloud.get(id)?.status).toBe('active');
  });

  it('brings a deleted instance back', async () => {
    const { cloud, clock } = setUp({ failures: { resurrect: 1 }, 'hide-time': 5 });
    const { id } = cloud.create(order);

    const isGone = cloud.remove(id);
    const usage = cloud.usage.instances;
    await clock.advance(5_000);

    expect([isGone, usage]).toEqual([true, 0]);
    expect(cloud.get(id)?.status).toBe('active');
    expect(cloud.usage.instances).toBe(1);
  });

  it('loses instances', async () => {
    const { cloud, clock, events } = setUp({ failures: { vanish: 1 }, 'vanish-time': 10 });
    const { id } = cloud.create(order);

    await clock.advance(10_000);

    expect(events.at(-1)).toEqual({ id, instance: null });
    expect(cloud.usage.instances).toBe(0);
  });

  it('sends clients no events while its API is down, and all of them afterwards', () => {
    const { cloud, events } = setUp();
    const { id } = cloud.create(order);
    cloud.set('failures.api-down', 1);

    cloud.kill(id);
    const heard = events.length;
    cloud.set('failures.api-down', 0);

    expect(heard).toBe(1);
    expect(events.at(-1)).toEqual({ id, instance: null });
  });
});
