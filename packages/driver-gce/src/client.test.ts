import { describe, expect, it } from 'vitest';
import { DATABASE_ID, useWorlds } from '../test/world.js';

const start = useWorlds();

describe('the client', () => {
  it('reads all pages of a list', async () => {
    const world = await start();
    const { node } = await world.launch();
    for (let i = 0; i < 1_100; i++) {
      const name = `np1${String(i).padStart(9, '0')}`;
      const labels = {
        nodepool_provider_name: 'google',
        nodepool_node_id: name.slice(2),
        nodepool_pool_name: 'main',
        nodepool_database_id: DATABASE_ID,
      };
      world.fake.cloud.insert(
        'us-central1-a',
        {
          ...{ name, labels, machineType: 'zones/us-central1-a/machineTypes/e2-standard-2', networkInterfaces: [{}] },
          disks: [{ boot: true }],
        },
        undefined,
      );
    }

    await world.findLeaks();
    await expect.poll(() => world.fake.instances.length).toBe(1);

    expect(world.fake.instances[0]?.name).toBe(node.externalId);
  });

  it('rejects a list whose pages repeat', async () => {
    const world = await start();
    world.fake.repeatsPages = true;

    await expect(world.findLeaks()).rejects.toThrow(/the list names page "p0" as the next page repeatedly/);
  });

  it('does not queue reads behind writes', async () => {
    const world = await start({ entry: { rate: 5 } });
    const seen: string[] = [];
    world.fake.onCall = ({ method }) => {
      seen.push(method.name);
    };

    const { state } = (await Promise.all(Array.from({ length: 8 }, () => world.launch())))[0] ?? {};

    expect(state).toBe('ready');
    const inserts = seen.flatMap((name, index) => (name === 'Instances.Insert' ? [index] : []));
    expect(seen.slice(inserts[0], inserts.at(-1))).toContain('Instances.List');
  });
});
