// What the fake cloud answers is what real services have answered: see `npm run test:openstack`, which records.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { OpenStackClient, type Transport } from '../src/client/index.js';
import type { JsonObject } from '@nodepool/zk-protocol';
import { bodyText } from './fake/fake-openstack.js';
import { text } from './fake/http.js';
import { keepLines, settingsOf } from './support/client.js';
import { ProviderWorld } from './support/provider-world.js';
import { strangeIn } from './support/strange-in.js';

const NEVER = new AbortController().signal;

function recorded(name: string): unknown {
  return JSON.parse(readFileSync(fileURLToPath(new URL(`fixtures/recorded/${name}.json`, import.meta.url)), 'utf8'));
}

let world: ProviderWorld | undefined;
afterEach(async () => {
  await world?.end();
});

describe('the answers of the fake cloud are like those of real services', () => {
  const setUp = async (label: JsonObject) => {
    world = await new ProviderWorld({ pool: { networks: ['private'] }, label }).start();
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

describe('the client understands what real services answer', () => {
  /** Answers with a recording, whatever is asked. */
  function clientOf(name: string): OpenStackClient {
    const transport: Transport = {
      send: ({ url }) => {
        const isVersion = /\/(v2\.1|v3)?\/?$/.test(new URL(url).pathname);
        const content = isVersion ? recorded('compute-version') : recorded(name);
        return Promise.resolve({
          status: 200,
          headers: { 'content-type': 'application/json' },
          text: JSON.stringify(content),
        });
      },
      close: () => Promise.resolve(),
    };
    const overrides = { compute_endpoint_override: 'http://x/v2.1', network_endpoint_override: 'http://x/v2.0' };
    const more = { image_endpoint_override: 'http://x/v2', volume_endpoint_override: 'http://x/v3/p' };
    return new OpenStackClient({
      settings: settingsOf({ auth_type: 'none', ...overrides, ...more }),
      transport,
      logger: keepLines([]),
      name: 'x',
      random: () => 0,
      clock: { now: () => 0, setTimer: () => () => undefined },
    });
  }

  it('of a server', async () => {
    const server = await clientOf('server').compute.server('x', NEVER);

    expect(server).toMatchObject({ name: 'recorded', status: 'ACTIVE', metadata: { a: 'b' }, zone: 'nova' });
    expect(server?.addresses[0]).toMatchObject({ network: 'private', version: 4, type: 'fixed' });
    expect(server?.hostId).not.toBe('');
    expect(server?.flavor.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('of ports, floating IPs, networks and limits', async () => {
    const [port] = await clientOf('ports').network.ports({}, NEVER);
    const [ip] = await clientOf('floating-ips').network.floatingIps(NEVER);
    const networks = await clientOf('networks').network.networks(NEVER);
    const limits = await clientOf('limits').compute.limits(NEVER);
    const { ports } = await clientOf('network-quota').network.limits('p', NEVER);

    expect(port).toMatchObject({ deviceOwner: 'compute:nova', status: 'ACTIVE' });
    expect(ip).toMatchObject({
      description: 'recorded',
      portId: expect.any(String) as unknown,
      revision: expect.any(Number) as unknown,
    });
    expect(networks.filter(({ isExternal }) => isExternal).map(({ name }) => name)).toEqual(['floating']);
    expect(limits).toEqual({ instances: 120, cores: 240, ramMib: 524_288 });
    expect(ports).toMatchObject({ limit: 500 });
  });

  it('of images, volumes and flavors', async () => {
    const [image] = await clientOf('images').image.images({}, NEVER);
    const [volume] = await clientOf('volumes').volume.volumes(NEVER);
    const flavors = await clientOf('flavors').compute.flavors(NEVER);

    expect(image).toMatchObject({ name: 'test-image', status: 'active', hashAlgorithm: 'sha512' });
    expect(volume).toMatchObject({ sizeGb: 1, metadata: { a: 'b' } });
    expect(flavors.find(({ name }) => name === 'm1.large')).toMatchObject({ vcpus: 4, ramMib: 8_192 });
  });
});
