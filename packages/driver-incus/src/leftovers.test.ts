import { expect, it } from 'vitest';
import { fakeDaemon, makeInstance, SIGNAL, TAGS } from '../test/support/daemon.js';
import { Leftovers } from './leftovers.js';
import { asKeys } from './ownership.js';

const NAME = 'np0000000001-aaaaaa';

function start() {
  const world = fakeDaemon();
  const { client, operations } = world;
  return { ...world, leftovers: new Leftovers({ client, operations, provider: 'lab', databaseId: 'db' }) };
}

it('are the instances with tags, and no others', async () => {
  const world = start();
  await makeInstance(world, NAME, asKeys(TAGS));
  await makeInstance(world, 'mine');
  await makeInstance(world, 'copy-of-node', asKeys(TAGS));

  expect(world.leftovers.of(await world.client.instances(SIGNAL))).toMatchObject([
    { type: 'instance', id: NAME, metadata: TAGS },
  ]);
});

it('stops and deletes one', async () => {
  const world = start();
  await makeInstance(world, NAME, asKeys(TAGS), true);
  const deleted = world.leftovers.delete({ type: 'instance', id: NAME, metadata: TAGS }, SIGNAL);

  await world.clock.advance(10_000);
  await deleted;

  expect(world.daemon.state.instances.size).toBe(0);
});

it('says that another operation holds an instance', async () => {
  const world = start();
  await makeInstance(world, NAME, asKeys(TAGS));
  await world.client.startInstance(NAME, SIGNAL);
  const deleted = world.leftovers.delete({ type: 'instance', id: NAME, metadata: TAGS }, SIGNAL);
  const refused = expect(deleted).rejects.toThrow(/Instance is busy running a "start" operation/);

  await world.clock.advance(10_000);
  await refused;

  expect(world.daemon.state.instances.size).toBe(1);
});

it('does not delete a copy that a user has made of a node', async () => {
  const world = start();
  await makeInstance(world, 'golden', asKeys(TAGS));

  await world.leftovers.delete({ type: 'instance', id: 'golden', metadata: TAGS }, SIGNAL);

  expect(world.daemon.state.instances.size).toBe(1);
});

it('does not delete what is not ours any more', async () => {
  const world = start();
  await makeInstance(world, NAME, asKeys({ ...TAGS, nodepool_database_id: 'other' }));

  await world.leftovers.delete({ type: 'instance', id: NAME, metadata: TAGS }, SIGNAL);

  expect(world.daemon.state.instances.size).toBe(1);
});

it('adds tags and keeps others', async () => {
  const world = start();
  await makeInstance(world, NAME, asKeys(TAGS));

  await world.leftovers.tag({ type: 'instance', id: NAME, metadata: {} }, { nodepool_database_id: 'new' }, SIGNAL);

  expect(world.leftovers.of(await world.client.instances(SIGNAL))[0]?.metadata).toEqual({
    ...TAGS,
    nodepool_database_id: 'new',
  });
});
