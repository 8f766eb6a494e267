import { describe, expect, it } from 'vitest';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { idOf, useWorld } from '../../test/world.js';

const setUp = useWorld();

describe('a deletion', () => {
  it('of a missing instance succeeds', async () => {
    const world = await setUp();
    const { cloud } = world;
    const { node } = await world.launch();
    cloud.kill(idOf(node));

    await world.cleanUp(node);

    expect(cloud.usage.instances).toBe(0);
  });

  it('fails when the cloud refuses it, and can be repeated', async () => {
    const world = await setUp();
    const { cloud } = world;
    const { node } = await world.launch();
    cloud.set('failures.delete-error', 1);

    const refused = await world.cleanUp(node).catch((error: unknown) => error);
    cloud.set('failures.delete-error', 0);
    await world.cleanUp(node);

    expect(isNodepoolError(refused)).toBe(true);
    expect(cloud.usage.instances).toBe(0);
  });

  it('ends at once when the instance vanishes', async () => {
    const world = await setUp({ settings: { 'delete-time': 600 } });
    const { cloud, clock } = world;
    const { node } = await world.launch();
    const startedMs = clock.now();

    const deleted = world.cleanUp(node).then(() => clock.now() - startedMs);
    await clock.advance(1_000);
    cloud.kill(idOf(node));
    await clock.advance(0);

    expect(await deleted).toBe(1_000);
  });
});
