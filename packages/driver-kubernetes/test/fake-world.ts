import { systemClock } from '@nodepool/zk-protocol';
import { afterEach } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { FakeKubernetes, type FakeKubernetesOptions } from '@nodepool/kubernetes';
import { createHttp } from '../src/index.js';
import { loginOf } from './fake-cloud.js';
import { World, type WorldOptions } from './world.js';

/** A fake cluster that works at once. */
export function startFake(options: Partial<FakeKubernetesOptions> = {}): Promise<FakeKubernetes> {
  return FakeKubernetes.start({ clock: systemClock, startMs: 0, deleteMs: 0, accountMs: 0, ...options });
}

/** Calls to a fake cluster. */
export function httpOf(fake: FakeKubernetes) {
  const credentials = { get: () => Promise.resolve(loginOf(fake.url)), forget: () => undefined };
  return createHttp({ credentials, clock: systemClock });
}

const POOL: JsonObject = {
  name: 'main',
  labels: [
    { name: 'small', type: 'pod', image: 'debian', cpu: 1 },
    { name: 'space', type: 'namespace' },
  ],
};
const PROJECT_POOL: JsonObject = {
  name: 'main',
  labels: [
    { name: 'small', type: 'pod', image: 'debian', cpu: 1 },
    { name: 'space', type: 'project' },
  ],
};
const SHARED_POOL: JsonObject = { name: 'main', labels: [{ name: 'small', image: 'debian', cpu: 1 }] };
const POOLS = { kubernetes: POOL, openshift: PROJECT_POOL, openshiftpods: SHARED_POOL };

/** Starts fake clusters and providers for each test of a file, and ends them after it. */
export function useFakeWorlds() {
  const worlds: World[] = [];
  const fakes: FakeKubernetes[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.end();
    for (const fake of fakes.splice(0)) await fake.stop();
  });
  return {
    fake: async (options?: Partial<FakeKubernetesOptions>): Promise<FakeKubernetes> => {
      const fake = await startFake(options);
      fakes.push(fake);
      return fake;
    },
    world: async (
      fake: FakeKubernetes,
      entry: JsonObject = {},
      options: Partial<WorldOptions> = {},
    ): Promise<World> => {
      const pools = [POOLS[options.driver ?? 'kubernetes']];
      const world = await World.start({ http: httpOf(fake), ...options, entry: { context: 'fake', pools, ...entry } });
      worlds.push(world);
      return world;
    },
  };
}

/** Names of the objects of a kind, in all namespaces. */
export function namesIn({ cluster }: FakeKubernetes, kind: string): string[] {
  return cluster.store.list(kind).map(({ metadata }) => metadata.name);
}
