import { describe, expect, it } from 'vitest';
import { NEVER, addServers, failureOf, useCloud, settingsOf } from '../../test/support/client.js';
import { endpointOf } from './service.js';

const { cloud, client } = useCloud();

describe('lists', () => {
  it('are followed page by page', async () => {
    addServers(cloud(), 57);
    for (let i = 0; i < 60; i++) cloud().state.addImage(`image-${i}`);
    cloud().state.knobs.pageSize = 10;
    const api = client();

    const [servers, images] = await Promise.all([api.compute.servers(NEVER), api.image.images({}, NEVER)]);

    expect(new Set(servers.map(({ id }) => id)).size).toBe(57);
    expect(images).toHaveLength(61);
    expect(cloud().count('GET', /^compute\/servers\/detail/)).toBe(6);
  });

  it('whose markers repeat after some pages are an error', async () => {
    const pages = ['a', 'b', 'a', 'b'].map((marker) => ({
      images: [{ id: marker, name: marker }],
      next: `/v2/images?marker=${marker}`,
    }));
    for (const body of pages) {
      const headers = { 'content-type': 'application/json' };
      cloud().faults.push({ path: /v2\/images/, times: 1, status: 200, headers, body: JSON.stringify(body) });
    }

    const error = await failureOf(client().image.images({}, NEVER));

    expect(error.message).toContain('circles (marker a)');
  });

  it('that go round in circles are an error', async () => {
    const next = { servers: [{ id: 'a' }], servers_links: [{ rel: 'next', href: 'http://x/y?marker=a' }] };
    cloud().faults.push({
      path: /servers\/detail/,
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(next),
    });

    const error = await failureOf(client().compute.servers(NEVER));

    expect(error.message).toContain('circles');
  });
});

const auth = { auth_url: 'https://k.example/v3', username: 'u', password: 'p', project_name: 'ci' };
const endpoint = (kind: string, region: string) => ({
  interface: kind,
  region,
  url: `https://${kind}.${region}/v2.1/`,
});
const token = {
  ...{ id: 't', issuedMs: 0, expiresMs: Infinity, projectId: 'p1' },
  catalog: [
    { type: 'compute', name: 'nova', endpoints: [endpoint('public', 'north'), endpoint('internalURL', 'north')] },
    { type: 'volume', name: 'old', endpoints: [endpoint('public', 'north')] },
    { type: 'volumev3', name: 'cinder', endpoints: [endpoint('admin', 'north')] },
  ],
};

describe('endpointOf', () => {
  it('finds the region and the first available interface, without a trailing slash', () => {
    const settings = settingsOf({ auth, region_name: 'north', interface: ['internal', 'public'] });

    expect(endpointOf(settings, token, 'compute')).toBe('https://internalURL.north/v2.1');
  });

  it('prefers newer service types, and a configured type to both', () => {
    const admin = { auth, region_name: 'north', interface: 'admin' };

    expect(endpointOf(settingsOf(admin), token, 'volume')).toBe('https://admin.north/v2.1');
    expect(endpointOf(settingsOf({ auth, volume_service_type: 'volume' }), token, 'volume')).toBe(
      'https://public.north/v2.1',
    );
  });

  it('fills the project into an override', () => {
    const settings = settingsOf({ auth, compute_endpoint_override: 'https://x/%(project_id)s/' });

    expect(endpointOf(settings, token, 'compute')).toBe('https://x/p1');
  });

  it('is undefined for a service missing in the catalogue, and lists the existing ones for another region', () => {
    expect(endpointOf(settingsOf({ auth }), token, 'image')).toBeUndefined();
    expect(() => endpointOf(settingsOf({ auth, region_name: 'south' }), token, 'compute')).toThrow(
      /no compute endpoint in region "south".*its regions are north/,
    );
  });
});
