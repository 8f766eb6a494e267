import { isNodepoolError } from '@nodepool/core';
import { expect, it } from 'vitest';
import { useWorlds } from '../test/world.js';

const start = useWorlds();

it('stops an instance once, and tells how it is started again', async () => {
  const world = await start();
  const { node } = await world.launch();

  const state = await world.stop(node);
  await world.stop(node);

  const placement = { zone: 'us-central1-a', machineType: 'e2-standard-2', spot: false };
  expect(state).toMatchObject({ start: true, state: { name: 'starting', externalId: node.externalId, placement } });
  expect(world.fake.instances.map(({ status }) => status)).toEqual(['TERMINATED']);
  expect(world.fake.countOf('Instances.Stop')).toBe(1);
});

it('fails when the instance is gone', async () => {
  const world = await start();
  const { node } = await world.launch();
  for (const instance of world.fake.instances) world.fake.cloud.remove(instance);

  const error = await world.stop(node).catch((reason: unknown) => reason);

  expect(isNodepoolError(error, 'NODEPOOL_NOT_FOUND')).toBe(true);
});
