import { describe, expect, it } from 'vitest';
import { useWorlds } from '../test/world.js';

const start = useWorlds();

describe('a Spot VM', () => {
  it('that is preempted is reported with its node', async () => {
    const world = await start({ label: { spot: true } });
    const { node } = await world.launch();
    const { node: used } = await world.launch();
    world.nodes.set(used.id, { ...used, state: 'in-use' });
    world.fake.cloud.preempt('np0000000001');
    world.fake.cloud.preempt('np0000000002');

    await world.provider.cleanupLeakedResources(new AbortController().signal);
    await world.provider.cleanupLeakedResources(new AbortController().signal);

    const reports = world.log.filter(({ message }) => message === 'Google preempted the Spot VM');
    expect(reports.map(({ fields }) => [fields['nodeId'], fields['state']])).toEqual([
      [node.id, 'ready'],
      [used.id, 'in-use'],
    ]);
  });
});
