import { describe, expect, it } from 'vitest';
import { text } from '../test/fake/http.js';
import type { World } from '../test/support/world.js';
import { useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));
const servers = () => [...world.cloud.state.servers.values()];
const orders = () => world.cloud.count('POST', /compute\/servers$/);

describe('failures of a launch', () => {
  it.each([
    ['Quota exceeded for cores: Requested 1', 'aborted', 'error.quota'],
    ['Build aborted: VolumeSizeExceedsAvailableQuota: exceeds allowed gigabytes quota', 'aborted', 'error.quota'],
    ['Maximum number of ports exceeded', 'aborted', 'error.quota'],
    ['No valid host was found.', 'failed', 'error.capacity'],
    ['Build of instance aborted: libvirt is angry', 'failed', 'error.status'],
  ])('a server in ERROR with "%s" ends %s, counted as %s, and is deleted', async (fault, state, counted) => {
    await setUp({ entry: { 'launch-retries': 1 } });
    world.cloud.state.knobs.hidesFaults = true; // it has to be read by id
    world.cloud.state.fates.push(fault);

    const result = await world.during(world.launch());

    expect(result.state).toBe(state);
    expect(world.counted).toEqual([counted]);
    expect(result.node.externalId).toBe(servers()[0]?.id);
    await world.during(world.cleanUp(result.node));
    expect(servers()).toEqual([]);
  });

  it('a server that stays in BUILD ends with what Nova says of it', async () => {
    await setUp({ entry: { 'launch-retries': 1, 'launch-timeout': 240 } });
    world.cloud.state.fates.push('stuck');

    const { state, error } = await world.during(world.launch());

    const why =
      'the instance was not ready within 240 s, the cloud shows it as BUILD (scheduling): allow more with launch-timeout';
    expect({ state, message: error?.message }).toEqual({ state: 'failed', message: why });
  });

  it('a cloud that does not answer is a condition after 20 s, and the cause of the failed launch', async () => {
    await setUp({ entry: { 'launch-retries': 1, 'launch-timeout': 50 } });
    await world.launchReady();
    world.cloud.faults.push({ path: /compute/, silent: true });

    const launched = world.launch();
    await world.pass(25_000);
    const found = world.provider.conditions?.();
    const { error } = await world.during(launched);

    expect(found).toMatchObject([{ type: 'CallsUnanswered', reason: 'Timeout' }]);
    expect(found?.[0]?.message).toMatch(/^the cloud has not answered .* since \S+Z \(compute\.(GET|POST)\.servers\)$/);
    expect(error?.message).toMatch(
      /^the instance was not ready within 50 s: the cloud has not answered .* since \S+Z \(/,
    );
  });

  it('stores in the record of the node which calls have no answer, until they have one', async () => {
    await setUp({ entry: { 'launch-retries': 1, 'launch-timeout': 300 } });
    await world.launchReady();
    world.cloud.state.knobs.bootMs = 60_000;
    const error = () => [...world.nodes.values()].at(-1)?.launchError;
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, delayMs: 35_000 });

    const launched = world.launch();
    await world.pass(15_000);
    const before = error();
    await world.pass(16_000);
    const during = error();
    await world.pass(15_000);
    const after = error();
    const { state } = await world.during(launched);

    expect([before, after, state]).toEqual([null, null, 'ready']);
    expect(during).toMatch(/^the cloud has not answered a call since \S+Z \(compute\.POST\.servers\)$/);
  });

  it('says while it looks for a server whose order ended with 500 what it waits for, and the error in the end', async () => {
    await setUp({ entry: { 'launch-retries': 1 } });
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, status: 500 });

    const launched = world.launch();
    await world.pass(2_000);
    const [note] = [...world.nodes.values()].map(({ launchError }) => launchError);
    await world.pass(20_000);
    const [during, ...others] = world.provider.conditions?.() ?? [];
    const { error } = await world.during(launched);

    expect(note).toMatch(/^looking for the server for 30 s, as its order may have taken effect: .*500/);
    expect(during).toMatchObject({ type: 'CallsUnanswered', reason: 'Unavailable', name: world.provider.config.name });
    expect(during?.message).toMatch(/^orders of instances are answered with errors: .*500/);
    expect(others).toEqual([]);
    expect(error?.message).toMatch(/500.*, and no server appeared$/);
    expect(error).toMatchObject({ code: 'NODEPOOL_PROVIDER_UNAVAILABLE' }); // the cloud, not the image
  });

  it.each([400, 403, 413, 500])('an order refused with %i for quota waits, and no attempt counts', async (status) => {
    await setUp({ entry: { 'launch-retries': 1 } });
    const body = JSON.stringify({ badRequest: { code: status, message: 'Quota exceeded for instances: Requested 1' } });
    const headers = { 'content-type': 'application/json' };
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, status, headers, body });

    const { state } = await world.during(world.launch());

    expect(state).toBe('aborted');
  });

  it('a zone without room is left for another, and for a while not asked again', async () => {
    await setUp(
      { pool: { 'availability-zones': ['north', 'south'] } },
      ({ cloud }) => (cloud.state.zones = ['north', 'south']),
    );
    world.cloud.state.fates.push('No valid host was found.');
    const first = await world.launchReady();
    const second = await world.launchReady();
    await world.pass(60_000);
    const third = await world.launchReady();

    expect([first.az, second.az, third.az]).toEqual(['south', 'south', 'north']);
  });

  it('keeps the nodes of one request in their zone', async () => {
    await setUp(
      { pool: { 'availability-zones': ['north', 'south'] } },
      ({ cloud }) => (cloud.state.zones = ['north', 'south']),
    );
    world.cloud.state.fates.push('No valid host was found.');

    const { state, node } = await world.during(world.launch({ labels: ['small', 'small'] }));

    expect([state, node.az]).toEqual(['ready', 'north']);
  });

  it('a cloud without capacity is asked again by each further attempt, and by none of another launch', async () => {
    await setUp({ entry: { 'launch-retries': 2 } });
    world.cloud.state.fates.push('No valid host was found.', 'No valid host was found.');

    const first = await world.during(world.launch());
    const ordersOfFirst = orders();
    const second = await world.during(world.launch());

    expect([first.state, ordersOfFirst]).toEqual(['failed', 2]);
    expect([second.state, orders()]).toEqual(['ready', 3]);
    expect(world.counted).toEqual(['error.capacity', 'error.capacity', 'error.capacity', 'ready']);
  });

  it('with [null] the cloud chooses the zone', async () => {
    await setUp({ pool: { 'availability-zones': [null] } }, ({ cloud }) => (cloud.state.zones = ['north', 'south']));
    const node = await world.launchReady();

    expect(world.cloud.calls.find(({ path }) => path === '/os-availability-zone')).toBeUndefined();
    expect(node.az).toBe('north');
  });

  it('reads everything again after a flavor, image or network disappeared, and repeats the order once', async () => {
    await setUp();
    await world.launchReady();
    const [image] = [...world.cloud.state.images.values()];
    world.cloud.state.images.delete(text(image?.['id']));
    const next = world.cloud.state.addImage('debian');
    const node = await world.launchReady();

    expect(world.cloud.state.servers.get(text(node.externalId))?.imageId).toBe(next['id']);
    expect(world.counted).toEqual(['ready', 'ready']);
  });

  it('an order without an answer is looked for, and not made twice', async () => {
    await setUp({}, ({ cloud }) => (cloud.state.knobs.bootMs = 5_000));
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, after: true, status: 502 });
    const node = await world.launchReady();

    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
    expect(world.counted).toEqual(['ready']);
  });

  it('an order without an answer is not answered by the server of a former node, of a database that was restored', async () => {
    await setUp({ entry: { 'launch-retries': 1 } });
    await world.launchReady();
    const [former] = servers();
    if (!former) throw new Error('there is no server');
    Object.assign(former, { name: 'np0000000002' });
    Object.assign(former.metadata, { nodepool_node_id: '0000000002' });
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, reset: true });
    await world.clock?.advance(1_000);

    const { state, node } = await world.during(world.launch());
    await world.during(world.cleanUp(node));

    expect([state, node.externalId]).toEqual(['failed', null]);
    expect(servers()).toEqual([former]);
  });

  it('a server in ERROR of an order without an answer tells why the attempt failed, and is not made twice', async () => {
    await setUp({ entry: { 'launch-retries': 1 } });
    world.cloud.state.fates.push('No valid host was found.');
    world.cloud.faults.push({
      method: 'POST',
      path: /compute\/servers$/,
      times: 1,
      after: true,
      delayMs: 100,
      status: 502,
    });

    const { state, node } = await world.during(world.launch());

    expect([state, world.counted]).toEqual(['failed', ['error.capacity']]);
    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
    expect(orders()).toBe(1);
  });

  it('a server that the cloud does not find for half a minute is used', async () => {
    await setUp();
    world.cloud.faults.push(
      { method: 'GET', path: /compute\/servers\/(?!detail)[^/]+$/, times: 10, status: 404 },
      {
        ...{ method: 'GET', path: /compute\/servers\/detail$/, times: 20, status: 200, body: '{"servers":[]}' },
        headers: { 'content-type': 'application/json' },
      },
    );
    const node = await world.launchReady();

    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
    expect(world.counted).toEqual(['ready']);
  });

  it('an empty list ends no launch', async () => {
    await setUp({}, ({ cloud }) => (cloud.state.knobs.bootMs = 60_000));
    const launches = Promise.all(Array.from({ length: 6 }, () => world.launch()));
    await world.pass(40_000);
    world.cloud.faults.push({
      ...{ method: 'GET', path: /compute\/servers\/detail$/, times: 1, status: 200, body: '{"servers":[]}' },
      headers: { 'content-type': 'application/json' },
    });

    await world.during(launches);

    expect(world.counted).toEqual(Array.from({ length: 6 }, () => 'ready'));
    expect(orders()).toBe(6);
  });

  it('a server that is deleted behind our back is another attempt', async () => {
    await setUp({}, ({ cloud }) => (cloud.state.knobs.bootMs = 5_000));
    const launched = world.launch();
    await world.pass(1_000);
    world.cloud.state.removeServer(servers()[0]?.id ?? '');

    const { state } = await world.during(launched);

    expect(state).toBe('ready');
    expect(world.counted).toEqual(['error.status', 'ready']);
  });
});

describe('a launch whose launcher died before it knew the server', () => {
  /** @param after - Nova has carried out the order */
  async function dead(after: boolean) {
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, after, silent: true });
    const death = new AbortController();
    const launched = world.launch({}, death.signal);
    await world.pass(1_000);
    death.abort(new Error('killed'));
    return (await world.during(launched)).node;
  }
  const hideServers = (times: number) =>
    world.cloud.faults.push({
      ...{ method: 'GET', path: /compute\/servers\/detail$/, times, status: 200, body: '{"servers":[]}' },
      headers: { 'content-type': 'application/json' },
    });
  const now = () => world.clock?.now() ?? 0;

  it('uses the server of its order, although lists show it late', async () => {
    await setUp();
    const left = await dead(true);
    hideServers(6);

    const { state, node } = await world.during(world.resume(left, now() - 20_000));

    expect([state, orders()]).toEqual(['ready', 1]);
    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
  });

  it.each([
    [20_000, 40_000],
    [61_000, 0],
  ])('orders another %i ms after its start only when none can appear any more', async (agoMs, waitMs) => {
    await setUp();
    const left = await dead(false);
    const beganMs = now();
    const resumed = world.resume(left, beganMs - agoMs);

    await world.pass(Math.max(0, waitMs - 1_000));
    const early = orders();
    await world.pass(15_000);

    expect([early, orders()]).toEqual([waitMs === 0 ? early : 1, 2]);
    expect((await world.during(resumed)).state).toBe('ready');
  });

  it('fails with the server in ERROR of its order, and leaves no second one', async () => {
    await setUp({ entry: { 'launch-retries': 1 } });
    world.cloud.state.fates.push('Build of instance aborted: libvirt is angry');
    const left = await dead(true);
    await world.pass(60_000);

    const { state, node } = await world.during(world.resume(left, now() - 10_000));

    expect([state, orders()]).toEqual(['failed', 1]);
    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
  });
});

describe('a server that is ACTIVE just as its launch times out', () => {
  it('is used', async () => {
    await setUp({ entry: { 'launch-timeout': 30 } }, ({ cloud }) => (cloud.state.knobs.bootMs = 29_950));
    const node = await world.launchReady();

    expect(servers().map(({ id }) => id)).toEqual([node.externalId]);
    expect(world.counted).toEqual(['ready']);
  });

  it('is not used without the floating IP that it needs', async () => {
    const pool = { networks: ['private'] };
    const cloud = { networks: [{ name: 'private', routes_externally: false }] };
    await setUp(
      { entry: { 'launch-timeout': 30, 'launch-retries': 1 }, pool, cloud },
      (made) => (made.cloud.state.knobs.bootMs = 29_950),
    );

    const { state } = await world.during(world.launch());

    expect(state).toBe('failed');
  });
});
