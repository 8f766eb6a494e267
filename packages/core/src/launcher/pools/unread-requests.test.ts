import { newPoolComponent, type LauncherId, type PoolComponentRecord, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { FIRST_POOL_PAUSE_MS, firstPoolFor } from '../steering/first-pool.js';
import { LONGEST_PAUSE_MS } from './first-pools.js';
import { UnreadRequests, type WaitingPool } from './unread-requests.js';

const IDS = Array.from({ length: 40 }, (_, i) => `200-${String(i).padStart(10, '0')}` as RequestId);

function registered(name: string, fields: Partial<PoolComponentRecord> = {}): PoolComponentRecord {
  return newPoolComponent({
    ...{
      hostname: name,
      version: '1',
      launcherId: `${name}-PoolWorker` as LauncherId,
      name: 'main',
      providerName: name,
    },
    ...{ supportedLabels: ['small', 'big'], priority: 100, firstPoolPauseMs: FIRST_POOL_PAUSE_MS },
    ...fields,
  });
}

function seen(fields: Partial<Record<keyof WaitingPool, unknown>> = {}, others = [registered('theirs')]): WaitingPool {
  const own = registered('ours');
  return {
    launcherId: own.launcherId,
    registered: [own, ...others],
    pool: { labels: new Map([['small', {}]]) },
    ...{ priority: 100, stopping: false, steering: { isWell: true, isSlow: false }, idleNodes: () => [] },
    ...fields,
  } as unknown as WaitingPool;
}

const leftOf = (pools: WaitingPool[]) => {
  const unread = new UnreadRequests(new VirtualClock(), () => pools);
  return IDS.filter((id) => unread.leave(id));
};

describe('a request that has just come', () => {
  it('is left unread by all pools but its first', () => {
    const pools = [registered('a'), registered('b'), registered('c')];
    const views = pools.map(({ launcherId }) =>
      seen({ launcherId, registered: pools, pool: { labels: new Map([['big', {}]]) } }),
    );

    const left = views.map((view) => leftOf([view]));

    for (const id of IDS) {
      const readers = views.filter((_, i) => !left[i]?.includes(id)).map(({ launcherId }) => launcherId);
      expect(readers).toEqual([firstPoolFor(id, pools)?.launcherId]);
    }
  });

  it.each([
    ['this pool has free nodes', { idleNodes: () => [{ state: 'ready' }] }],
    ['the provider fails', { steering: { isWell: false, isSlow: false } }],
    ['the provider is slow', { steering: { isWell: true, isSlow: true } }],
    ['steering is off', { steering: undefined }],
  ])('is read when %s', (_, fields) => {
    expect(leftOf([seen(fields)])).toEqual([]);
  });

  it.each([
    ['lacks a label that this one has', { supportedLabels: ['big'] }],
    ['is paused', { paused: true }],
    ['has a worse priority', { priority: 200 }],
    ['has a better priority and is paused', { priority: 50, paused: true }],
    ['does not know of first pools', { firstPoolPauseMs: undefined }],
  ])('is read when the other pool %s', (_, fields) => {
    expect(leftOf([seen({}, [registered('theirs', fields)])])).toEqual([]);
  });

  it('is left to a pool of a better priority, although that does not know of first pools', () => {
    expect(leftOf([seen({}, [registered('theirs', { priority: 50, firstPoolPauseMs: undefined })])])).toEqual(IDS);
  });

  it('is read when one of several pools would be the first', () => {
    const other = seen({ launcherId: 'second-PoolWorker', registered: [registered('second')] });
    expect(leftOf([seen()]).length).toBeGreaterThan(0);
    expect(leftOf([seen(), other])).toEqual([]);
    expect(leftOf([])).toEqual([]);
  });

  it('is left by a pool that takes nothing more', () => {
    expect(leftOf([seen({ stopping: true }, [])])).toEqual(IDS);
  });

  it('is judged by the pools that are registered now', () => {
    const pool = { ...seen() };
    const unread = new UnreadRequests(new VirtualClock(), () => [pool]);
    const before = IDS.some((id) => unread.leave(id));
    Object.assign(pool, { registered: pool.registered.slice(0, 1) });
    expect([before, IDS.some((id) => unread.leave(id))]).toEqual([true, false]);
  });
});

it('since when a request waits is known as long as its pause can last', async () => {
  const clock = new VirtualClock();
  const unread = new UnreadRequests(clock, () => [seen({ stopping: true })]);
  const [a, b, c] = IDS as [RequestId, RequestId, RequestId];
  unread.leave(a);
  const startMs = unread.sinceMs(a) ?? NaN;
  await clock.advance(100);
  unread.leave(b);

  await clock.advance(LONGEST_PAUSE_MS - 100);
  unread.leave(c);

  expect(IDS.slice(0, 3).map((id) => unread.sinceMs(id))).toEqual([
    undefined,
    startMs + 100,
    startMs + LONGEST_PAUSE_MS,
  ]);
});
