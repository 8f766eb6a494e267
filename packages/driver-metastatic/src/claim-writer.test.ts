import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { useWorld, yamlOf } from '../test/world.js';

const world = useWorld();

const placeOf = (node: NodeRecord) => {
  const { backing_node: backing, slot } = node.driverData as { backing_node: string; slot: number };
  return `${backing}/${slot}`;
};

describe('two launchers with one provider', () => {
  it('never assign a slot twice, and share backing nodes', async () => {
    const yaml = yamlOf({ hosts: 20, provider: 'max-concurrency: 6' });
    await Promise.all([world.launcher(yaml), world.launcher(yaml)]);
    const client = await world.client();

    const ids = await Promise.all(Array.from({ length: 40 }, () => client.ask(['small'])));
    const slots = (await Promise.all(ids.map((id) => client.use(id)))).flat();

    expect(new Set(slots.map((node) => node.launcher)).size).toBe(2);
    expect(new Set(slots.map(placeOf)).size).toBe(40);
    expect(client.backing().length).toBeLessThanOrEqual(11);
  });

  it('continue with the backing nodes of the other when it dies', async () => {
    const yaml = yamlOf({ hosts: 4, label: 'grace-time: 0' });
    const first = await world.launcher(yaml);
    const client = await world.client();
    const [slot] = await client.use(await client.ask(['small']));
    await world.launcher(yaml);

    await first.kill();
    const [second] = await client.use(await client.ask(['small']));

    expect(client.backing()).toHaveLength(1);
    expect(placeOf(second as NodeRecord)).not.toBe(placeOf(slot as NodeRecord));
    await client.giveBack((slot as NodeRecord).id);
    await client.giveBack((second as NodeRecord).id);
    await client.until('the backing node is given back', () => client.backing().length === 0);
    await client.until(
      'the machine is free again',
      () => client.all().length === 4 && client.all().every((node) => node.state === 'ready'),
    );
  });
});
