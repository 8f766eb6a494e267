import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readCloud } from './read-cloud.js';
import type { CloudFiles } from './types.js';
import { VENDOR_NAMES } from './vendor-profiles.js';

function files(entry: JsonObject, more: Partial<CloudFiles> = {}): CloudFiles {
  return { clouds: { sky: entry }, publicClouds: {}, top: {}, files: ['clouds.yaml'], ...more };
}

const auth = { auth_url: 'https://keystone.example/v3', username: 'u', password: 'p', project_name: 'ci' };

describe('profiles', () => {
  it.each(['ovh', 'vexxhost'])('%s knows where its Keystone is', (profile) => {
    const { settings } = readCloud(files({ profile, auth: { username: 'u', password: 'p', project_id: '1' } }), 'sky');

    expect(settings.auth.authUrl).toMatch(/^https:\/\/auth\./);
    expect(settings.floatingIpSource).toBe('none');
    expect(settings.region).toBeDefined();
  });

  it('put the region into addresses', () => {
    const entry = { profile: 'citycloud', region_name: 'Sto2', auth: { username: 'u', password: 'p' } };

    expect(readCloud(files(entry), 'sky').settings.auth.authUrl).toBe('https://Sto2.citycloud.com:5000/v3/');
  });

  it('of clouds-public.yaml come before those that are built in, and the entry before both', () => {
    const publicClouds = { ovh: { auth: { auth_url: 'https://mine.example/v3' }, image_format: 'raw', private: true } };
    const entry = { profile: 'ovh', image_format: 'vhd', auth: { username: 'u', password: 'p' } };

    const { settings } = readCloud(files(entry, { publicClouds }), 'sky');

    expect(settings).toMatchObject({
      imageFormat: 'vhd',
      isPrivate: true,
      auth: { authUrl: 'https://mine.example/v3' },
    });
  });

  it('that are unknown are an error that lists the others', () => {
    expect(() => readCloud(files({ profile: 'nimbus', auth }), 'sky')).toThrow(/"nimbus".*vexxhost/);
  });

  it('can all be read but those of clouds without Keystone 3', () => {
    const broken = VENDOR_NAMES.filter((profile) => {
      try {
        readCloud(files({ profile, auth: { username: 'u', password: 'p' } }), 'sky');
        return false;
      } catch {
        return true;
      }
    });

    expect(broken).toEqual(['bluebox', 'rackspace']);
  });
});
