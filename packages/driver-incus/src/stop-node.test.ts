import { isNodepoolError } from '@nodepool/core';
import { expect, it } from 'vitest';
import { fakeDaemon, makeInstance, type FakeDaemon } from '../test/support/daemon.js';
import type { DeleteContext } from './delete-node.js';
import { ATTEMPT_KEY } from './ownership.js';
import { stopHandlers, type StopState } from './stop-node.js';

const NAME = 'np1';

/** Runs a stop. @returns the names of the states it went through, and its last step */
async function run(world: FakeDaemon, first: StopState = { name: 'start', externalId: NAME }) {
  const { client, operations, look } = world;
  const context: DeleteContext = { client, operations, own: (name) => look(name) };
  const names: string[] = [];
  let visits = 0;
  for (let state = first; ;) {
    if (visits === 0) names.push(state.name);
    const handler = stopHandlers[state.name] as (...args: unknown[]) => unknown;
    const step = (await handler(state, context, world.run(visits))) as {
      step: string;
      state: StopState;
      result?: unknown;
      error?: Error;
    };
    if (step.step === 'done' || step.step === 'failed') return { names, ...step };
    if (step.step === 'wait') {
      visits++;
      await world.clock.advance(1_000);
    } else {
      visits = 0;
      state = step.state;
    }
  }
}

it('stops an instance, and tells how it is started again', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { [ATTEMPT_KEY]: 'x' }, true);

  const { names, result } = await run(world);

  expect(names).toEqual(['start', 'stopping', 'waiting-for-stop', 'start']);
  expect(result).toEqual({ name: 'starting', externalId: NAME, attempt: 'x' });
  expect(world.daemon.state.instances.get(NAME)?.shown.status).toBe('Stopped');
});

it('is done at once when it is stopped, and fails when it is gone', async () => {
  const world = fakeDaemon();
  const { step, error } = await run(world);
  await makeInstance(world, NAME, { [ATTEMPT_KEY]: 'x' });

  expect([step, isNodepoolError(error, 'NODEPOOL_NOT_FOUND')]).toEqual(['failed', true]);
  expect((await run(world)).names).toEqual(['start']);
});
