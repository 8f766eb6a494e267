import {
  COMPONENTS_ROOT,
  encodeComponent,
  newPoolComponent,
  type LauncherId,
  type NodeRecord,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { RackWorld } from '../support/rack-world.js';

async function startedLauncher(nodes: readonly Partial<NodeRecord>[]) {
  const world = new RackWorld();
  await world.createNodes(nodes);
  const launcher = await world.startLauncher();
  const states = () => [...launcher.nodes.values()].map(({ state, allocatedTo }) => [state, allocatedTo]);
  return { world, states };
}

const gone = '200-0000000007' as RequestId;

describe('reclaiming nodes', () => {
  it('deletes unlocked nodes after their use, and keeps the others', async () => {
    const { states } = await startedLauncher([
      { state: 'used' },
      { state: 'in-use' },
      { state: 'hold' },
      { state: 'ready' },
      { state: 'used', provider: 'elsewhere' },
    ]);

    expect(states().map(([state]) => state)).toEqual(['hold', 'ready', 'used']);
  });

  it('frees a ready node whose request was deleted', async () => {
    const { states } = await startedLauncher([{ allocatedTo: gone }]);

    expect(states()).toEqual([['ready', null]]);
  });

  it('deletes a record that its launcher never locked, once that is certain', async () => {
    const { world, states } = await startedLauncher([{ state: 'init', allocatedTo: gone }]);
    expect(states()).toEqual([['init', gone]]);

    await world.settle(6_000);

    expect(states()).toEqual([]);
  });

  describe('deletes the record that a pool left without a lock immediately', () => {
    const launcher = 'nl02-PoolWorker.rack-main-0' as LauncherId;
    const unlocked = { state: 'init', allocatedTo: gone, launcher } as const;
    const body = encodeComponent(
      newPoolComponent({
        ...{
          name: 'main',
          providerName: 'rack',
          launcherId: launcher,
          hostname: 'nl02',
          state: 'running',
          version: '1',
        },
        ...{ supportedLabels: ['a'], priority: 100, paused: false },
      }),
    );

    async function startedBesidePool(nodes: readonly Partial<NodeRecord>[]) {
      const parts = await startedLauncher(nodes);
      const { clock, zk } = parts.world;
      const path = `${COMPONENTS_ROOT}/pool/nl02-`;
      await clock.run(zk.ensurePath(`${COMPONENTS_ROOT}/pool`));
      const register = () => clock.run(zk.create(path, body, { ephemeral: true, sequential: true }));
      const entry = await register();
      await parts.world.settle();
      return { ...parts, register, leave: () => clock.run(zk.delete(entry)) };
    }

    it('if the record existed before the pool left', async () => {
      const { world, states, leave } = await startedBesidePool([unlocked]);
      expect(states()).toEqual([['init', gone]]);

      await leave();
      await world.settle();

      expect(states()).toEqual([]);
    });

    it('if the record appears after the pool has left', async () => {
      const { world, states, leave } = await startedBesidePool([]);
      await leave();
      await world.settle();

      await world.createNodes([unlocked]);
      await world.settle();

      expect(states()).toEqual([]);
    });

    it('unless the pool has returned in a new session', async () => {
      const { world, states, register, leave } = await startedBesidePool([]);
      await leave();
      await register();
      await world.settle();

      await world.createNodes([unlocked]);
      await world.settle();

      expect(states()).toEqual([['init', gone]]);
    });
  });
});
