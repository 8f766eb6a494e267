import { expect, it } from 'vitest';
import type { Driver } from '@nodepool/core';
import { pastEvent } from '@nodepool/history';
import { Past, replay, type LabelFigures } from '@nodepool/history/replay';
import { driver as fake } from '@nodepool/driver-fake';
import { driver as metastatic } from '@nodepool/driver-metastatic';
import { driver as rack } from '@nodepool/driver-static';
import type { JsonObject } from '@nodepool/zk-protocol';
import { makeConfig, makeRegistry } from '../fleets/config.js';

const BEGAN_MS = 1_800_000_000_000;
const USE_MS = 60_000;

/** Simultaneous requests for `small`, each fulfilled immediately and used for a minute. */
function pastOf(requests: number): Past {
  const past = new Past();
  for (let i = 0; i < requests; i++) {
    const id = `200-${i}`;
    const facts = { createdMs: BEGAN_MS, labels: ['small'], requestor: 'zuul', tenant: null };
    past.add({ kind: 'request', id, facts, events: [pastEvent(BEGAN_MS, 'fulfilled')] });
    const node = { request: id, labels: ['small'], pool: 'rack/main' };
    const events = [pastEvent(BEGAN_MS, 'state', '', 'in-use'), pastEvent(BEGAN_MS + USE_MS, 'state', '', 'used')];
    past.add({ kind: 'node', id: `${i}`, isFirst: true, facts: node, events });
  }
  return past;
}

/** Adds a recorded launch. */
function addLaunch(past: Past, provider: string, label: string, tookMs: number): void {
  const facts = { request: '100-0', labels: [label], pool: `${provider}/main` };
  const state = (atMs: number, name: string) => pastEvent(BEGAN_MS + atMs, 'state', '', name);
  past.add({ kind: 'node', id: 'b', isFirst: true, facts, events: [state(0, 'building'), state(tookMs, 'ready')] });
}

async function replayed(past: Past, providers: readonly JsonObject[]): Promise<LabelFigures | undefined> {
  const drivers = new Map<string, Driver>([fake, metastatic, rack].map((driver) => [driver.name, driver]));
  const labels = [{ name: 'small' }, { name: 'backing' }];
  const config = await makeConfig({ labels, maxHoldAgeMs: 0, tenantLimits: new Map(), providers }, drivers);
  const { labels: found } = await replay({
    ...{ past, window: { sinceMs: BEGAN_MS, untilMs: BEGAN_MS + 1 } },
    ...{ configs: [config], registry: makeRegistry(drivers) },
  });
  return found.find(({ label }) => label === 'small')?.replayed;
}

it('static hosts serve one request per slot at a time and are reused', async () => {
  const host = { name: 'host1.example.com', labels: ['small'], 'max-parallel-jobs': 2 };
  const entry = { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes: [host] }] };

  const figures = await replayed(pastOf(5), [entry]);

  expect(figures).toMatchObject({ requests: 5, peak: 2, failed: 0, open: 0 });
  expect(figures?.p50Ms).toBeCloseTo(USE_MS, -3);
  expect(figures?.p95Ms).toBeCloseTo(2 * USE_MS, -3);
});

it('metastatic providers launch backing nodes with the recorded launch times', async () => {
  const past = pastOf(2);
  addLaunch(past, 'cloud', 'backing', 30_000);
  const backing = { name: 'backing', 'cloud-image': 'image', 'min-ram': 1024 };
  const cloud = {
    ...{ name: 'cloud', driver: 'fake', 'launch-timeout': 600, 'boot-timeout': 60, 'launch-retries': 3 },
    ...{ 'cloud-images': [{ name: 'image' }], pools: [{ name: 'main', 'max-servers': 1, labels: [backing] }] },
  };
  const slot = { name: 'small', 'backing-label': 'backing', 'max-parallel-jobs': 2, 'host-key-checking': true };
  const slots = {
    ...{ name: 'slots', driver: 'metastatic', 'launch-timeout': 600, 'launch-retries': 3 },
    pools: [{ name: 'main', 'max-servers': 4, labels: [{ ...slot, 'grace-time': 60 }] }],
  };

  const figures = await replayed(past, [cloud, slots]);

  expect(figures).toMatchObject({ requests: 2, peak: 2, failed: 0, open: 0 });
  expect(figures?.p95Ms).toBeCloseTo(30_000, -3);
});

it('a provider whose quota made requests wait gets the recorded peak use as quota', async () => {
  const past = pastOf(3);
  addLaunch(past, 'cloud', 'small', 10_000);
  const text = 'provider "cloud": label "small" needs 1 instance, 0 free';
  past.add({ kind: 'request', id: '200-0', events: [pastEvent(BEGAN_MS, 'waits', 'cloud/main', 'pool-full', text)] });
  const label = { name: 'small', 'cloud-image': 'image', 'min-ram': 1024 };
  const cloud = {
    ...{ name: 'cloud', driver: 'fake', 'launch-timeout': 600, 'boot-timeout': 60, 'launch-retries': 3 },
    ...{ 'cloud-images': [{ name: 'image' }], pools: [{ name: 'main', 'max-servers': 10, labels: [label] }] },
  };

  const figures = await replayed(past, [cloud]);

  expect(figures).toMatchObject({ requests: 3, peak: 1, open: 0 });
  expect(figures?.p95Ms).toBeGreaterThan(2 * USE_MS);
});
