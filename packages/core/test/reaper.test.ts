import type { NodeRecord, RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { RackWorld } from '../src/test-support/rack-world.js';

async function startedLauncher(nodes: readonly Partial<NodeRecord>[]) {
  const world = new RackWorld();
  await world.createNodes(nodes);
  const launcher = await world.startLauncher();
  const states = () => [...launcher.nodes.values()].map(({ state, allocatedTo }) => [state, allocatedTo]);
  return { world, states };
}

const gone = '200-0000000007' as RequestId;

describe('taking nodes back', () => {
  it('deletes unlocked nodes whose use is over, and leaves the others alone', async () => {
    const { states } = await startedLauncher([
      { state: 'used' },
      { state: 'in-use' },
      { state: 'hold' },
      { state: 'ready' },
      { state: 'used', provider: 'elsewhere' },
    ]);

    expect(states().map(([state]) => state)).toEqual(['hold', 'ready', 'used']);
  });

  it('frees a ready node whose request is gone', async () => {
    const { states } = await startedLauncher([{ allocatedTo: gone }]);

    expect(states()).toEqual([['ready', null]]);
  });

  it('deletes a record that its launcher never came to lock, once that is certain', async () => {
    const { world, states } = await startedLauncher([{ state: 'init', allocatedTo: gone }]);
    expect(states()).toEqual([['init', gone]]);

    await world.settle(6_000);

    expect(states()).toEqual([]);
  });
});
