import { describe, expect, it } from 'vitest';
import { useSlot, useWorld, yamlOf } from '../test/world.js';

const world = useWorld();

describe('slots', () => {
  it('are assigned again as soon as they are returned', async () => {
    await world.launcher(yamlOf({ hosts: 1, label: 'max-parallel-jobs: 1' }).replace('max-parallel-jobs: 4, ', ''));
    const client = await world.client();
    const slot = await useSlot(client);
    const next = await client.ask(['small']);
    await client.until('the second launch waits', () => client.slots().some((node) => node.state === 'building'));

    await client.giveBack(slot.id);
    const started = performance.now();
    const [second] = await client.use(next);

    expect(performance.now() - started).toBeLessThan(20_000); // before the next sweep
    expect(second?.driverData).toMatchObject({ slot: 0 });
    expect(client.backing()).toHaveLength(1);
  });

  it('fill one backing node before another is requested', async () => {
    await world.launcher(yamlOf({}));
    const client = await world.client();

    const ids = await Promise.all(Array.from({ length: 6 }, () => client.ask(['small'])));
    const slots = (await Promise.all(ids.map((id) => client.use(id)))).flat();

    expect(client.backing()).toHaveLength(2);
    const places = slots.map((node) =>
      JSON.stringify(node.driverData).replace(/.*backing_node":"(\d+)","slot":(\d).*/, '$1/$2'),
    );
    expect(new Set(places).size).toBe(6);
  });
});
