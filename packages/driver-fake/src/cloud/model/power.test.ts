import { expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { FakeCloud } from './fake-cloud.js';

const order = { name: 'np1', image: 'debian', az: null, metadata: {} };

function setUp() {
  const clock = new VirtualClock();
  const settings = { 'create-time': 30, 'stop-time': 5, 'start-time': 2 };
  const cloud = new FakeCloud({ clock, random: () => 0.5, settings });
  const { id } = cloud.create(order);
  return { clock, cloud, id, statusOf: () => cloud.get(id)?.status };
}

it('stops an instance, which keeps its place in the quota, and starts it in its own time', async () => {
  const { clock, cloud, id, statusOf } = setUp();
  await clock.advance(30_000);
  const statuses = [statusOf()];

  cloud.power.stop(id);
  statuses.push(statusOf());
  await clock.advance(5_000);
  statuses.push(statusOf());
  const stopped = cloud.get(id)?.address;
  const used = cloud.usage.instances;
  cloud.power.start(id);
  statuses.push(statusOf());
  await clock.advance(2_000);

  expect(statuses).toEqual(['active', 'stopping', 'stopped', 'starting']);
  expect([statusOf(), stopped, used, cloud.get(id)?.address]).toEqual(['active', null, 1, 'np1.fake']);
});

it('refuses what is not possible, and repeats without effect', async () => {
  const { clock, cloud, id, statusOf } = setUp();

  expect(() => cloud.power.stop(id)).toThrow('is building: it cannot be stopped');
  expect(() => cloud.power.start(id)).toThrow('is building: it cannot be started');
  expect(() => cloud.power.start('i-9')).toThrow('does not exist');
  await clock.advance(30_000);
  cloud.power.start(id);
  cloud.power.stop(id);
  cloud.power.stop(id);
  expect(() => cloud.power.start(id)).toThrow('is stopping: it cannot be started');
  await clock.advance(5_000);
  cloud.power.stop(id);

  expect(statusOf()).toBe('stopped');
});
