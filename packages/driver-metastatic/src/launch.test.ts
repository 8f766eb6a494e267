import { expect, it } from 'vitest';
import { LaunchError, silentLogger } from '@nodepool/core';
import type { OperationMetrics } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { newNode, newRequest } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, RequestId } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { launchSlot } from './launch.js';

it('reports every attempt with the time since the launch began, and the zone the node is to be in', async () => {
  const clock = new VirtualClock();
  const reports: unknown[] = [];
  const launchEnded: OperationMetrics['launchEnded'] = (result, ms, { az }) => reports.push([result, ms, az]);
  const node: NodeRecord = { ...newNode({ state: 'building', labels: ['small'], az: 'east' }, 0), id: '1' as NodeId };
  const allocator = {
    add: (claim: { failed(error: Error): void; done(node: NodeRecord): void }) =>
      clock.setTimer(4_000, () => {
        if (reports.length < 2) claim.failed(new LaunchError('status', 'refused by all'));
        else claim.done({ ...node, az: 'west' });
      }),
    remove: () => {},
  };
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
  const order = { node, label, pool, request, store: () => Promise.resolve(node) };
  const services = {
    config,
    allocator,
    clock,
    logger: silentLogger,
    zk: { sessionEpoch: 1 },
    metrics: { launchEnded },
  };

  const launch = launchSlot(services, order, label, new AbortController().signal);
  for (let i = 0; i < 3; i++) await clock.advance(4_000);

  expect((await launch).state).toBe('ready');
  expect(reports).toEqual([
    ['error.status', 4_000, 'east'],
    ['error.status', 8_000, 'east'],
    ['ready', 12_000, 'west'],
  ]);
});
