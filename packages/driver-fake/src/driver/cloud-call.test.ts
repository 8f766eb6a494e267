import { describe, expect, it } from 'vitest';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { order } from '../../test/servers.js';
import { VirtualClock } from '../../test/virtual-clock.js';
import { connectInProcess, FakeCloud } from '../cloud/index.js';
import { callsOf } from './cloud-call.js';

const { signal } = new AbortController();

function setUp(settings: object = {}) {
  const clock = new VirtualClock();
  const cloud = new FakeCloud({ clock, random: () => 0.5, settings: { ...settings } });
  return { cloud, call: callsOf(connectInProcess(cloud, clock)) };
}

describe('callsOf', () => {
  it.each([
    ['quota', { failures: { quota: 1 } }, 'NODEPOOL_QUOTA'],
    ['capacity', { failures: { capacity: 1 } }, 'NODEPOOL_CAPACITY'],
    ['an API that is down', { failures: { 'api-down': 1 } }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['a rate limit', { failures: { 'rate-limited': 1 } }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    ['an order that can never work', { images: [] }, 'NODEPOOL_CONFIG'],
  ])('translates %s', async (_what, settings, code) => {
    const { cloud, call } = setUp(settings);

    const error = await call('create', order, signal).catch((reason: unknown) => reason);

    expect(isNodepoolError(error, code)).toBe(true);
    expect([...cloud.list()]).toEqual([]);
  });

  it('translates an instance that does not exist', async () => {
    const error = await setUp()
      .call('remove', 'i-none', signal)
      .catch((reason: unknown) => reason);

    expect(isNodepoolError(error, 'NODEPOOL_NOT_FOUND')).toBe(true);
  });

  it('passes on any other error', async () => {
    const aborted = AbortSignal.abort(new Error('enough'));

    await expect(setUp().call('list', null, aborted)).rejects.toThrow(/^enough$/);
  });
});
