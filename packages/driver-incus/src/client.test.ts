import { expect, it } from 'vitest';
import { fakeDaemon, makeInstance, SIGNAL } from '../test/support/daemon.js';

it('takes a missing instance, file, operation and image for missing', async () => {
  const world = fakeDaemon();
  const { client } = world;
  await makeInstance(world, 'a');

  expect(await client.instance('b', SIGNAL)).toBeUndefined();
  expect(await client.readFile('a', '/etc/none', SIGNAL)).toBeUndefined();
  expect(await client.operation('none', SIGNAL)).toBeUndefined();
  expect(await client.has('images', 'aliases/missing', SIGNAL)).toBe(false);
});

it('reads files and the console as text', async () => {
  const world = fakeDaemon();
  await makeInstance(world, 'a');
  world.daemon.state.instances.get('a')?.files.set('/etc/hostname', 'a\n');

  expect(await world.client.readFile('a', '/etc/hostname', SIGNAL)).toBe('a\n');
  expect(await world.client.consoleLog('a', SIGNAL)).toBe('console of a\n');
});

it('remembers since when the daemon refuses it, until it does not', async () => {
  const { client, clock, daemon } = fakeDaemon({ isTrusted: false });
  await expect(client.instances(SIGNAL)).rejects.toThrow(/does not trust this client/);
  const sinceMs = clock.now();
  await clock.advance(5_000);
  await expect(client.instances(SIGNAL)).rejects.toThrow();

  expect(client.refused).toMatchObject({ sinceMs, lastSeenMs: clock.now() });
  await client.trust('ci', 'secret', SIGNAL);
  expect(client.refused).toBeUndefined();
  expect(daemon.calls.at(-1)).toBe('POST /1.0/certificates');
});
