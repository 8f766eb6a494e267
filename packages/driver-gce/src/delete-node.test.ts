import { describe, expect, it } from 'vitest';
import { useWorlds } from '../test/world.js';

const start = useWorlds();

describe('a deletion', () => {
  it('is one call with a request id, as is the creation', async () => {
    const world = await start();
    const ids: unknown[] = [];
    world.fake.onCall = ({ query }) => {
      if ('requestId' in query) ids.push(query['requestId']);
    };

    const { node } = await world.launch();
    await world.cleanUp(node);

    expect(new Set(ids).size).toBe(2);
    expect(world.fake.countOf('Instances.Insert') + world.fake.countOf('Instances.Delete')).toBe(2);
  });

  it('of a missing instance makes no call', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (const instance of world.fake.instances) world.fake.cloud.remove(instance);

    await world.cleanUp(node);

    expect(world.fake.countOf('Instances.Delete')).toBe(0);
  });
});
