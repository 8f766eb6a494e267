import { beforeEach, expect, it } from 'vitest';
import { newControl } from '@nodepool/zk-protocol';
import type { ProviderConfig } from '@nodepool/core';
import { node, pool, World } from '../../../test/support/world.js';
import { countNodes, providersToApi } from './providers.js';

let world: World;

beforeEach(() => {
  world = new World();
  world.components = [];
});

const configure = (name: string) =>
  (world.config.providers as Map<string, ProviderConfig>).set(name, {
    ...{ name, driverName: 'static', pools: new Map([['main', {}]]) },
  } as unknown as ProviderConfig);
const listed = () => providersToApi(world.sources, countNodes(world.nodes.values()).byProvider);
const command = (name: string, mode: 'pause' | 'drain' | 'limit') =>
  newControl({ kind: 'provider', name, mode, owner: 'alice', limit: null, reason: '', endTimeMs: null }, 0);

it('lists providers that are configured, registered, drained or have nodes, by name', () => {
  configure('d');
  world.components = [pool({ providerName: 'c' })];
  world.drainingProviders = [{ provider: 'b', nodes: 1, sinceMs: 0 }];
  world.nodes.set('1', node('1', { provider: 'a' }));
  world.nodes.set('2', node('2', { provider: null }));

  expect(listed().map(({ name, state, local }) => [name, state, local])).toEqual([
    ['a', 'elsewhere', false],
    ['b', 'draining', false],
    ['c', 'elsewhere', false],
    ['d', 'running', true],
  ]);
});

it('shows a failed provider as failed, even if an operator paused it', () => {
  configure('a');
  configure('b');
  world.controls = [command('a', 'pause'), command('b', 'limit')];
  world.providerErrors = [{ provider: 'a', error: 'no login' }];

  expect(listed()).toMatchObject([
    { state: 'failed', error: 'no login' },
    { state: 'limited', error: null },
  ]);
});

it('sums the limits of its pools, and shows no limit as null', () => {
  configure('a');
  const status = { provider: 'a', providerLimits: { instances: 5, cores: Infinity }, providerUsed: { instances: 2 } };
  const withLimit = (maxServers: number) => ({ ...status, maxServers }) as unknown as World['poolStatus'][number];
  world.poolStatus = [withLimit(3), withLimit(4)];

  expect(listed()).toMatchObject([{ max_servers: 7, limits: { instances: 5 }, used: { instances: 2 } }]);
  world.poolStatus = [withLimit(3), withLimit(Infinity)];
  expect(listed()).toMatchObject([{ max_servers: null }]);
});

it('counts nodes by state and provider', () => {
  const nodes = [node('1'), node('2', { state: 'in-use' }), node('3', { provider: null })];

  expect(countNodes(nodes)).toEqual({
    all: { ready: 2, 'in-use': 1 },
    byProvider: new Map([['rack', { ready: 1, 'in-use': 1 }]]),
  });
});
