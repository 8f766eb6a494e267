import { expect, it } from 'vitest';
import { useWorlds } from '../test/world.js';

const start = useWorlds();
const zone = ['us-central1-a', 'us-central1-b'];

/** A provider with one stopped instance. */
async function startWithStopped() {
  const world = await start({ entry: { zone } });
  const { node } = await world.launch();
  return { world, node, launchState: await world.stop(node) };
}

it('starts the stopped instance, and stores the address that it has now', async () => {
  const { world, node, launchState } = await startWithStopped();

  const started = await world.startStopped(node, launchState);

  expect(started).toMatchObject({ state: 'ready', node: { externalId: node.externalId, launchState: null } });
  expect(started.node.publicIpv4).not.toBe(node.publicIpv4);
  expect([world.fake.countOf('Instances.Insert'), world.fake.countOf('Instances.Start')]).toEqual([1, 1]);
});

it('makes another instance elsewhere in its place if there is no stock to start it', async () => {
  const { world, node, launchState } = await startWithStopped();
  world.fake.cloud.exhausted.add('us-central1-a/e2-standard-2');

  const started = await world.startStopped(node, launchState);

  expect(started).toMatchObject({ state: 'ready' });
  expect(world.fake.instances.map((one) => [one.zone, one.status])).toEqual([[zone[1], 'RUNNING']]);
});
