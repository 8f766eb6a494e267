import { describe, expect, it } from 'vitest';
import { settingsOf } from '../../test/support/client.js';
import { endpointOf } from './catalog.js';

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
