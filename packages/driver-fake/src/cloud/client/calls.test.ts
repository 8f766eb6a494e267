import { describe, expect, it } from 'vitest';
import { order } from '../../../test/servers.js';
import { VirtualClock } from '../../../test/virtual-clock.js';
import { FakeCloud } from '../model/fake-cloud.js';
import { callCloud, isCallName } from './calls.js';

function setUp(settings: object = {}) {
  const clock = new VirtualClock();
  const cloud = new FakeCloud({ clock, random: () => 0.5, settings: { ...settings } });
  return { clock, cloud };
}

describe('callCloud', () => {
  it('answers synchronously if calls take no time', () => {
    const { clock, cloud } = setUp();

    expect(callCloud(cloud, clock, 'zones', null)).toEqual([]);
  });

  it('takes effect after the API time and answers after the answer time', async () => {
    const { clock, cloud } = setUp({ 'api-time': 2, 'answer-time': 3 });
    let answered = false;

    const call = Promise.resolve(callCloud(cloud, clock, 'create', order)).then(() => (answered = true));
    await clock.advance(1_999);
    expect(cloud.usage.instances).toBe(0);
    await clock.advance(1);
    expect([cloud.usage.instances, answered]).toEqual([1, false]);
    await clock.advance(3_000);

    await call;
  });

  it('sends each part of an image in its share of the upload time', async () => {
    const { clock, cloud } = setUp({ 'upload-time': 10, images: [] });
    const { id } = cloud.upload('debian', {});

    const sending = callCloud(cloud, clock, 'sendImage', { id, share: 0.5, isLast: true });
    await clock.advance(4_999);
    expect(cloud.hasImage('debian')).toBe(false);
    await clock.advance(1);
    await sending;

    expect(cloud.hasImage('debian')).toBe(true);
  });

  it('loses only answers of calls that change something', () => {
    const { clock, cloud } = setUp({ failures: { 'connection-reset': 1 } });

    expect(callCloud(cloud, clock, 'limits', null)).toEqual({});
    expect(() => callCloud(cloud, clock, 'create', order)).toThrow(expect.objectContaining({ kind: 'reset' }));
    expect(cloud.usage.instances).toBe(1);
  });

  it('never fails a call of the operator', () => {
    const { clock, cloud } = setUp({ 'api-time': 60, failures: { 'api-down': 1 } });
    cloud.leak();

    expect(callCloud(cloud, clock, 'show', null)).toMatchObject({ usage: { instances: 1 }, byStatus: { active: 1 } });
  });
});

it('knows the names of its calls', () => {
  expect(isCallName('create')).toBe(true);
  expect(isCallName('toString')).toBe(false);
});
