import { newPoolComponent, newRequest, type LauncherId, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import type { PoolChange } from './pool-registry.js';
import { RegistryOutlook } from './registry-outlook.js';

const RETURN_MS = 30_000;
const request = { ...newRequest({ labels: ['small'] }, 0), id: '100-0000000000' as RequestId };

function poolOf(launcherId: string) {
  const id = launcherId as LauncherId;
  const names = { name: 'main', providerName: 'theirs', hostname: 'there', version: '1' };
  return newPoolComponent({ ...names, launcherId: id, supportedLabels: ['small'] });
}

/** An outlook on a registry with pools, and how one of them leaves. */
function setUp(...registered: string[]) {
  const clock = new VirtualClock();
  const pools = registered.map(poolOf);
  let leave: (change: PoolChange) => void = () => undefined;
  const outlook = new RegistryOutlook({
    clock,
    components: { ready: true, onChange: () => () => undefined },
    registry: {
      pools,
      onChange: (listener) => {
        leave = listener;
        return () => undefined;
      },
    },
    isOwn: (id) => id === 'own',
    nodes: { values: () => [] },
    isConfigured: () => true,
    changed: () => undefined,
  });
  return { clock, outlook, leave: (id: string) => leave({ before: poolOf(id), after: undefined }) };
}

describe('the registry', () => {
  it('is not complete before this launcher has begun to serve', () => {
    const { outlook } = setUp('own');

    const before = outlook.isCompleteFor(request);
    outlook.begin([]);

    expect([before, outlook.isCompleteFor(request)]).toEqual([false, true]);
    outlook.close();
  });

  it.each([
    ['requests that were there before it', ['own'], [request.id]],
    ['all requests while there are others', ['own', 'other'], []],
  ])('is not complete for a while after that for %s', async (_for, registered, waiting) => {
    const { clock, outlook } = setUp(...registered);

    outlook.begin(waiting);
    const first = outlook.isCompleteFor(request);
    await clock.advance(10_000);

    expect([first, outlook.isCompleteFor(request)]).toEqual([false, true]);
    outlook.close();
  });

  it('lacks a pool that has just left, and may be back', async () => {
    const { clock, outlook, leave } = setUp('own');
    outlook.begin([]);
    await clock.advance(10_000);

    leave('other');
    const first = outlook.isCompleteFor(request);
    await clock.advance(RETURN_MS);

    expect([first, outlook.isCompleteFor(request)]).toEqual([false, true]);
    outlook.close();
  });
});
