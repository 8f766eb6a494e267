import { afterEach, expect, it } from 'vitest';
import { text } from '../test/fake/http.js';
import { World } from '../test/support/world.js';

let world: World;
afterEach(async () => {
  await world.end();
});

const IMAGES = { diskimages: [{ name: 'build' }], 'cloud-images': [{ name: 'debian' }] };
const ANSWER = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"server": null}' };
const types = () => (world.provider.conditions?.() ?? []).map(({ type, message }) => `${type}: ${message}`);

it('works beside entries of all lists that cannot be read, names them, and says when it can read them', async () => {
  world = new World({ label: { 'boot-from-volume': true }, pool: { networks: ['private'] }, entry: IMAGES });
  world.cloud.broken.push(null, {}, { id: 7, name: 'half' }, 'text');
  await world.start();
  const node = await world.launchReady();
  await world.findLeaks(2);

  for (const kind of ['servers', 'flavors', 'networks', 'subnets', 'images', 'volumes', 'floatingips'])
    expect(types()).toEqual([expect.stringContaining(`4 of the ${kind} (half, ...)`)]);
  world.cloud.broken.length = 0;
  await world.during(world.cleanUp(node));
  await world.pass(3_600_000);
  await world.launchReady();
  await world.findLeaks(2);
  expect(types()).toEqual([]);
});

it('takes a server for gone only if the cloud says so', async () => {
  world = await new World().start();
  const node = await world.launchReady();
  world.cloud.state.unlisted.add(text(node.externalId));
  world.cloud.faults.push({ method: 'GET', path: /servers\/[^/]+$/, ...ANSWER });
  world.nodes.set(node.id, { ...node, state: 'ready' });
  await world.pass(180_000);

  expect(world.provider.unusableNodes?.()).toEqual([]);
});

it('does not take a floating IP for unattached whose port it cannot read', async () => {
  world = await new World({ entry: { 'clean-floating-ips': true } }).start();
  const { id } = world.cloud.state.addFloatingIp({ description: 'web' });
  world.cloud.broken.push({ id, floating_ip_address: '203.0.113.9' });
  world.cloud.state.floatingIps.delete(id);
  await world.findLeaks(3);

  expect(world.cloud.count('DELETE', /floatingips/)).toBe(0);
});
