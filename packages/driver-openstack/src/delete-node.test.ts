import { describe, expect, it } from 'vitest';
import { text } from '../test/fake/http.js';
import type { World } from '../test/support/world.js';
import { useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));
const servers = () => [...world.cloud.state.servers.values()];

describe('deletions', () => {
  it('end at once for what is gone already', async () => {
    await setUp();
    const node = await world.launchReady();
    world.cloud.state.removeServer(text(node.externalId));
    const callsBefore = world.cloud.calls.length;

    await world.during(world.cleanUp(node));

    const calls = world.cloud.calls.slice(callsBefore).map(({ method, service }) => `${method} ${service}`);
    expect(calls).toEqual(['GET network', 'DELETE compute']);
  });

  it('are not done while a read of the server finds it, whatever a list shows', async () => {
    await setUp({}, ({ cloud }) => (cloud.state.knobs.deleteMs = 30_000));
    const made = await world.during(Promise.all(Array.from({ length: 6 }, () => world.launch())));
    const beganMs = world.clock?.now() ?? 0;
    world.cloud.faults.push({
      ...{ method: 'GET', path: /compute\/servers\/detail$/, times: 1, status: 200, body: '{"servers":[]}' },
      headers: { 'content-type': 'application/json' },
    });

    await world.during(Promise.race(made.map(({ node }) => world.cleanUp(node))));

    expect((world.clock?.now() ?? 0) - beganMs).toBeGreaterThanOrEqual(30_000);
  });

  it('that are refused fail with what is in the way, and are repeated by who asked for them', async () => {
    await setUp();
    const node = await world.launchReady();
    world.cloud.faults.push({
      method: 'DELETE',
      times: 1,
      status: 409,
      body: 'Cannot delete while task_state is migrating',
    });

    const refusal = await world.during(world.cleanUp(node).catch(String));
    await world.during(world.cleanUp(node));

    expect(refusal).toMatch(/409.*Cannot delete while task_state is migrating/);
    expect(servers()).toEqual([]);
  });

  it('without an answer are watched, not asked for again', async () => {
    await setUp({ cloud: { api_timeout: 5 } }, ({ cloud }) => (cloud.state.knobs.deleteMs = 20_000));
    const node = await world.launchReady();
    world.cloud.faults.push({ method: 'DELETE', times: 1, delayMs: 10_000 });

    await world.during(world.cleanUp(node));

    expect(servers()).toEqual([]);
    expect(world.cloud.count('DELETE', /compute/)).toBe(1);
  });

  it('that end in ERROR are asked for again', async () => {
    await setUp();
    const node = await world.launchReady();
    const server = servers()[0];
    world.cloud.faults.push({ method: 'DELETE', times: 1, status: 204, body: '' });
    if (server) Object.assign(server, { status: 'ERROR', fault: 'destroy failed' });

    await world.during(world.cleanUp(node));

    expect(servers()).toEqual([]);
    expect(world.cloud.count('DELETE', /compute/)).toBe(2);
  });

  it('two hundred of them, each as slow as a minute, do not delay a list', async () => {
    await setUp({ cloud: { api_timeout: 120 } });
    const made = await world.during(Promise.all(Array.from({ length: 200 }, () => world.launch())));
    world.cloud.faults.push({ method: 'DELETE', path: /compute/, delayMs: 60_000 });
    const deletions = made.map(({ node }) => world.cleanUp(node));
    await world.pass(1_000);
    const from = world.clock?.now() ?? 0;

    const next = await world.during(world.launch());

    expect(next.state).toBe('ready');
    expect((world.clock?.now() ?? 0) - from).toBeLessThan(5_000);
    await world.during(Promise.all(deletions));
  });
});
