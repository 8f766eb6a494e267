import { expect, it } from 'vitest';
import { LaunchError, silentLogger } from '@nodepool/core';
import type { OperationMetrics } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { newNode, newRequest } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, RequestId } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { launchSlot, type LaunchServices } from './launch.js';

const node: NodeRecord = { ...newNode({ state: 'building', labels: ['small'], az: 'east' }, 0), id: '1' as NodeId };

/** Assigns a slot of label `small` to the node. */
function launch(
  clock: VirtualClock,
  allocator: LaunchServices['allocator'],
  launchEnded?: OperationMetrics['launchEnded'],
  unwanted?: AbortSignal,
) {
  const pools = [{ name: 'main', labels: [{ name: 'small', 'backing-label': 'big' }] }];
  const none = { labels: new Map(), diskimages: new Map(), problem: () => {} };
  const config = readProviderConfig({ name: 'meta', driver: 'metastatic', pools }, none);
  const pool = config.pools.get('main');
  const label = pool?.labels.get('small');
  if (!pool || !label) throw new Error('the label is not there');
  const request = {
    ...newRequest({ labels: ['small'], requestor: 'zuul', eventId: 'e' }, 0),
    id: '100-1' as RequestId,
  };
  const order = { node, label, pool, request, store: () => Promise.resolve(node), unwanted };
  const zk = { sessionEpoch: 1 };
  const services = { config, allocator, clock, logger: silentLogger, zk, metrics: { launchEnded } };
  return launchSlot(services, order, label, new AbortController().signal);
}

it('reports every attempt with the time since the launch began, and the zone the node is to be in', async () => {
  const clock = new VirtualClock();
  const reports: unknown[] = [];
  const allocator: LaunchServices['allocator'] = {
    add: (claim) =>
      clock.setTimer(4_000, () => {
        if (reports.length < 2) claim.failed(new LaunchError('status', 'refused by all'));
        else claim.done({ ...node, az: 'west' });
      }),
    remove: () => {},
  };

  const launched = launch(clock, allocator, (result, ms, { az }) => reports.push([result, ms, az]));
  for (let i = 0; i < 3; i++) await clock.advance(4_000);

  expect((await launched).state).toBe('ready');
  expect(reports).toEqual([
    ['error.status', 4_000, 'east'],
    ['error.status', 8_000, 'east'],
    ['ready', 12_000, 'west'],
  ]);
});

it('gives up its place when no request needs the node any more', async () => {
  const clock = new VirtualClock();
  const claims = new Set<unknown>();
  const allocator: LaunchServices['allocator'] = {
    add: (claim) => claims.add(claim),
    remove: (claim) => claims.delete(claim),
  };
  const unwanted = new AbortController();
  const launched = launch(clock, allocator, undefined, unwanted.signal);
  expect(claims.size).toBe(1);

  unwanted.abort(new Error('the request was withdrawn'));

  expect(await launched).toMatchObject({ state: 'failed', error: { message: 'the request was withdrawn' } });
  expect(claims.size).toBe(0);
});

it.each([-3_600_000, 3_600_000])('reports the time of an attempt when the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const reports: number[] = [];
  const allocator: LaunchServices['allocator'] = {
    add: (claim) => clock.setTimer(4_000, () => claim.done(node)),
    remove: () => {},
  };

  const launched = launch(clock, allocator, (_result, ms) => reports.push(ms));
  clock.set(clock.now() + byMs);
  await clock.advance(4_000);
  await launched;

  expect(reports).toEqual([4_000]);
});
