import { expect, it } from 'vitest';
import { fakeDaemon, makeInstance, SIGNAL, type FakeDaemon } from '../test/support/daemon.js';
import { deleteHandlers, type DeleteContext, type DeleteState } from './delete-node.js';

const NAME = 'np1';

function contextOf({ client, operations, look }: FakeDaemon): DeleteContext {
  return { client, operations, own: (name) => look(name) };
}

/** Runs a deletion from a state. @returns the names of the states it went through */
async function runFrom(world: FakeDaemon, first: DeleteState): Promise<string[]> {
  const names: string[] = [];
  let visits = 0;
  for (let state: DeleteState = first; ;) {
    if (visits === 0) names.push(state.name);
    const handler = deleteHandlers[state.name] as (...args: unknown[]) => unknown;
    const step = (await handler(state, contextOf(world), world.run(visits))) as { step: string; state: DeleteState };
    if (step.step === 'done') return names;
    if (step.step === 'wait') {
      visits++;
      await world.clock.advance(1_000);
    } else {
      visits = 0;
      state = step.state;
    }
  }
}

it('stops by force, then deletes', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, {}, true);

  expect(await runFrom(world, { name: 'start', externalId: NAME })).toEqual([
    ...['start', 'stopping', 'waiting-for-stop', 'deleting', 'waiting-for-deletion'],
  ]);
  expect(world.daemon.state.instances.size).toBe(0);
});

it('waits for an operation that is running on the instance', async () => {
  const world = fakeDaemon();
  const source = { type: 'image', alias: 'debian' };
  await world.client.createInstance({ name: NAME, type: 'container', source }, undefined, SIGNAL);

  const names = await runFrom(world, { name: 'start', externalId: NAME });

  const tries = ['start', 'deleting', 'waiting-for-deletion'];
  expect(names).toEqual([...tries, 'busy', ...tries]);
  expect(world.daemon.state.instances.size).toBe(0);
});

it('stops an instance whose start ends meanwhile', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME);
  await world.client.startInstance(NAME, SIGNAL);

  const names = await runFrom(world, { name: 'start', externalId: NAME });

  expect(names.slice(0, 4)).toEqual(['start', 'deleting', 'waiting-for-deletion', 'busy']);
  expect(names.slice(4)).toEqual(['start', 'stopping', 'waiting-for-stop', 'deleting', 'waiting-for-deletion']);
  expect(world.daemon.state.instances.size).toBe(0);
});

it('is done when there is none, or a stopped ephemeral one is gone', async () => {
  const world = fakeDaemon();

  expect(await runFrom(world, { name: 'start', externalId: NAME })).toEqual(['start']);
  expect(await runFrom(world, { name: 'deleting', externalId: NAME })).toEqual(['deleting']);
});

it('looks again after a restart of the daemon', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME);

  const names = await runFrom(world, { name: 'waiting-for-deletion', externalId: NAME, operation: 'lost' });

  expect(names).toEqual(['waiting-for-deletion', 'start', 'deleting', 'waiting-for-deletion']);
  expect(world.daemon.state.instances.size).toBe(0);
});
