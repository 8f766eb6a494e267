import { expect, it } from 'vitest';
import { fakeDaemon, makeInstance, SIGNAL } from '../test/support/daemon.js';

it('learns the end of an operation from an event, without a call', async () => {
  const world = fakeDaemon();
  const { operations, client, clock, daemon } = world;
  operations.start();
  await makeInstance(world, 'a');
  const { id } = await client.startInstance('a', SIGNAL);
  expect(await operations.result(id, false, SIGNAL)).toBe('running');
  const calls = daemon.calls.length;

  const changed = operations.changed(id, SIGNAL);
  await clock.advance(500);
  await changed;

  expect(await operations.result(id, false, SIGNAL)).toMatchObject({ status: 'Success' });
  expect(daemon.calls).toHaveLength(calls);
  await operations.stop();
});

it('reads operations while there is no event stream', async () => {
  const world = fakeDaemon();
  const { operations, client, clock } = world;
  await makeInstance(world, 'a');
  const operation = await client.startInstance('a', SIGNAL);
  const ended = operations.untilEnded(operation, SIGNAL);

  await clock.advance(2_000);

  expect(await ended).toMatchObject({ status: 'Success' });
  expect(operations.checkMs).toBe(1_000);
});

it('says when the daemon has forgotten an operation', async () => {
  const world = fakeDaemon();
  const { operations, client, clock, daemon } = world;
  await makeInstance(world, 'a');
  const operation = await client.startInstance('a', SIGNAL);
  daemon.state.operations.clear();

  expect(await operations.result(operation.id, true, SIGNAL)).toBe('forgotten');
  const ended = expect(operations.untilEnded(operation, SIGNAL)).rejects.toThrow(/the daemon was restarted/);
  await clock.advance(2_000);
  await ended;
});

it('ends a wait when it is aborted', async () => {
  const { operations } = fakeDaemon();
  const abort = new AbortController();
  const waiting = operations.changed('x', abort.signal);

  abort.abort(new Error('no longer'));

  await expect(waiting).rejects.toThrow('no longer');
});
