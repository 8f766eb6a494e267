import { isNodepoolError } from '@nodepool/core';
import { expect, it } from 'vitest';
import { text } from '../test/fake/http.js';
import type { World } from '../test/support/world.js';
import { useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));
const servers = () => [...world.cloud.state.servers.values()];

it('stops a server, keeps its floating IP, and tells how it is started again', async () => {
  await setUp({}, ({ cloud }) => (cloud.state.knobs.powerMs = 3_000));
  const node = await world.launchReady();
  const addresses = servers().map(({ id }) =>
    [...world.cloud.state.ports.values()].filter((one) => one.deviceId === id),
  );

  const state = await world.during(world.stop(node));

  expect(state).toMatchObject({ start: true, state: { name: 'starting', externalId: node.externalId } });
  expect(servers().map(({ status, taskState }) => ({ status, taskState }))).toEqual([
    { status: 'SHUTOFF', taskState: null },
  ]);
  expect(servers().map(({ id }) => [...world.cloud.state.ports.values()].filter((one) => one.deviceId === id))).toEqual(
    addresses,
  );
});

it('is done when the server is stopped', async () => {
  await setUp();
  const node = await world.launchReady();

  await world.during(world.stop(node));
  await world.during(world.stop(node));

  expect(servers()[0]?.status).toBe('SHUTOFF');
});

it.each([
  ['an accepted stop has no effect', 202, 'does not stop it'],
  ['a stop is not answered', 503, ''],
])('does not ask again when %s: it may take effect late', async (_what, status, why) => {
  await setUp();
  const node = await world.launchReady();
  world.cloud.faults.push({ method: 'POST', path: /action$/, times: 1, status, body: '' });

  const error: unknown = await world.during(world.stop(node)).catch((reason: unknown) => reason);

  expect(String(error)).toContain(why);
  expect(isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(status === 503);
  expect(world.cloud.count('POST', /action$/)).toBe(1);
});

it('fails when the server is gone', async () => {
  await setUp();
  const node = await world.launchReady();
  world.cloud.state.removeServer(text(node.externalId));

  const error = await world.during(world.stop(node)).catch((reason: unknown) => reason);

  expect(isNodepoolError(error, 'NODEPOOL_NOT_FOUND')).toBe(true);
});
