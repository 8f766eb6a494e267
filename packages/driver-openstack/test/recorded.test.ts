// What the fake cloud answers is what real services have answered: see `npm run test:openstack`, which records.
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { bodyText } from './fake/fake-openstack.js';
import { text } from './fake/http.js';
import { World } from './support/world.js';
import { recorded } from './support/recorded.js';
import { strangeIn } from './support/strange-in.js';

let world: World | undefined;
afterEach(async () => {
  await world?.end();
});

describe('the answers of the fake cloud are like those of real services', () => {
  const setUp = async (label: JsonObject) => {
    world = await new World({ pool: { networks: ['private'] }, label }).start();
    const { node } = await world.during(world.launch());
    const { cloud } = world;
    const headers = { 'x-auth-token': [...cloud.state.tokens.keys()][0] ?? '', 'content-type': 'application/json' };
    return async (method: string, path: string, body?: JsonObject) => {
      const url = new URL(path.replace('SERVER', text(node.externalId)), cloud.authUrl);
      const answer = await cloud.handle(method, url, headers, Buffer.from(body ? JSON.stringify(body) : ''));
      return JSON.parse(bodyText(answer)) as unknown;
    };
  };

  it.each([
    ['server', 'GET', '/compute/v2.1/servers/SERVER'],
    ['servers', 'GET', '/compute/v2.1/servers/detail'],
    ['console', 'POST', '/compute/v2.1/servers/SERVER/action'],
    ['flavors', 'GET', '/compute/v2.1/flavors/detail'],
    ['zones', 'GET', '/compute/v2.1/os-availability-zone'],
    ['limits', 'GET', '/compute/v2.1/limits'],
    ['server-groups', 'GET', '/compute/v2.1/os-server-groups'],
    ['compute-version', 'GET', '/compute/v2.1/'],
    ['networks', 'GET', '/network/v2.0/networks'],
    ['subnets', 'GET', '/network/v2.0/subnets'],
    ['ports', 'GET', '/network/v2.0/ports?device_id=SERVER'],
    ['network-quota', 'GET', '/network/v2.0/quotas/project-1/details.json'],
    ['floating-ips', 'GET', '/network/v2.0/floatingips'],
    ['images', 'GET', '/image/v2/images'],
    ['volumes', 'GET', '/volume/v3/project-1/volumes/detail'],
    ['volume-limits', 'GET', '/volume/v3/project-1/limits'],
  ])('%s', async (name, method, path) => {
    const call = await setUp(name === 'volumes' ? { 'boot-from-volume': true } : {});

    const fake = await call(method, path);

    expect(strangeIn(fake, recorded(name), name)).toEqual([]);
  });
});
