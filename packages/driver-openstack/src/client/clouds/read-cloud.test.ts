import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { tokenRequest } from '../keystone.js';
import { readCloudFiles } from './find-files.js';
import { readCloud } from './read-cloud.js';
import type { CloudFiles } from './types.js';
import { VENDOR_NAMES } from './vendor-profiles.js';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodepool-clouds-'));
  for (const name of ['here', 'home', 'etc']) mkdirSync(join(dir, name));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(file: string, text: string): string {
  writeFileSync(join(dir, file), text);
  return join(dir, file);
}

function read(env: Record<string, string> = {}): CloudFiles {
  return readCloudFiles({ env, dirs: ['here', 'home', 'etc'].map((name) => join(dir, name)) });
}

function files(entry: JsonObject, more: Partial<CloudFiles> = {}): CloudFiles {
  return { clouds: { sky: entry }, publicClouds: {}, top: {}, files: ['clouds.yaml'], ...more };
}

const auth = { auth_url: 'https://keystone.example/v3', username: 'u', password: 'p', project_name: 'ci' };

describe('the files', () => {
  it('are looked for in the environment, then here, at home and in /etc', () => {
    put('etc/clouds.yaml', 'clouds: {etc: {}}');
    const inEtc = Object.keys(read().clouds);
    put('home/clouds.json', '{"clouds": {"home": {}}}');
    const atHome = Object.keys(read().clouds);
    put('here/clouds.yml', 'clouds: {here: {}}');
    const here = Object.keys(read().clouds);
    const named = put('named.yaml', 'clouds: {named: {}}');

    expect([inEtc, atHome, here]).toEqual([['etc'], ['home'], ['here']]);
    expect(Object.keys(read({ OS_CLIENT_CONFIG_FILE: named }).clouds)).toEqual(['named']);
    expect(Object.keys(read({ OS_CLIENT_CONFIG_FILE: join(dir, 'missing') }).clouds)).toEqual(['here']);
  });

  it('are merged: secrets over clouds, from wherever each was found', () => {
    put('here/clouds.yaml', 'clouds:\n  sky:\n    region-name: R\n    auth: {username: u, password: x}');
    put('etc/secure.yaml', 'clouds:\n  sky:\n    auth: {password: s3cret}');

    expect(read().clouds['sky']).toEqual({ region_name: 'R', auth: { username: 'u', password: 's3cret' } });
  });

  it('may be empty', () => {
    put('here/clouds.yaml', 'clouds: {sky: {auth: {password: p}}}');
    put('here/secure.yaml', '');
    put('here/clouds-public.yaml', '# nothing yet\n');

    expect(read().clouds['sky']).toEqual({ auth: { password: 'p' } });
  });

  it('may have lines that end with a carriage return', () => {
    put('here/clouds.yaml', 'clouds:\r  sky:\r    region_name: one\r');

    expect(read().clouds['sky']).toEqual({ region_name: 'one' });
  });

  it('that are no YAML are named, and what is in them is not shown', () => {
    put('here/secure.yaml', 'clouds:\n  sky: {auth: {password: "s3cret}}');

    expect(() => read()).toThrow(/secure\.yaml:2:\d+ is not valid YAML/);
    expect(() => read()).not.toThrow(/s3cret/);
  });

  it('that are missing are listed when a cloud is asked for', () => {
    expect(() => readCloud(read(), 'sky')).toThrow(/there is no clouds.yaml/);
    expect(() => readCloud(files({ auth }), 'sea')).toThrow(/cloud "sea" is not in clouds\.yaml: it has sky/);
  });
});

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

describe('regions', () => {
  const regions = [
    'north',
    {
      name: 'south',
      values: { image_format: 'raw', networks: [{ name: 'wan', routes_externally: true, default_interface: true }] },
    },
  ];

  it('bring values of their own', () => {
    const south = readCloud(files({ auth, regions }), 'sky', 'south').settings;
    const first = readCloud(files({ auth, regions }), 'sky').settings;

    expect(south).toMatchObject({ region: 'south', imageFormat: 'raw' });
    expect(south.networks[0]).toMatchObject({ name: 'wan', defaultInterface: true, routesIpv4Externally: true });
    expect(first).toMatchObject({ region: 'north', imageFormat: 'qcow2', networks: [] });
  });

  it('that an entry does not list are an error', () => {
    expect(() => readCloud(files({ auth, regions }), 'sky', 'west')).toThrow(/"west" is not one of.*north, south/);
  });
});

describe('an entry', () => {
  it('may have floating IPs from nowhere, also as a text', () => {
    const sources = ['neutron', 'nova', 'None', null].map(
      (floating_ip_source) => readCloud(files({ auth, floating_ip_source }), 'sky').settings.floatingIpSource,
    );

    expect(sources).toEqual(['neutron', 'none', 'none', 'none']);
  });

  it('has values that are not supported named as well, and keys beside the clouds', () => {
    const { ignored } = readCloud(
      files(
        { auth, image_api_use_tasks: true, floating_ip_source: 'nova' },
        { top: { metrics: { statsd: { prefix: 'sdk', host: 'h' }, influxdb: {} }, cache: {}, other: {} } },
      ),
      'sky',
    );

    expect(ignored).toEqual([
      'image_api_use_tasks',
      'floating_ip_source: nova',
      'metrics.statsd.host',
      'metrics.influxdb',
      'other',
    ]);
  });

  it.each([
    [{}, {}, undefined],
    [{}, { metrics: { statsd: { prefix: 'openstack.api' } } }, 'openstack.api'],
    [
      { metrics: { statsd: { prefix: 'nodepool.task.sky' } } },
      { metrics: { statsd: { prefix: 'openstack.api' } } },
      'nodepool.task.sky',
    ],
  ])('has the prefix of metrics from the entry %j, then from the file %j', (entry, top, expected) => {
    const { settings, ignored } = readCloud(files({ auth, ...entry }, { top }), 'sky');

    expect(settings.metricsPrefix).toBe(expected);
    expect(ignored).toEqual([]);
  });

  it('has what is not supported named', () => {
    const { ignored } = readCloud(
      files({ auth, status: 'active', color: 'blue', compute_default_microversion: '2.1' }),
      'sky',
    );

    expect(ignored).toEqual(['color', 'compute_default_microversion']);
  });

  it('reads timeouts, overrides, TLS and the cache', () => {
    const top = { cache: { expiration: { server: 5 } } };
    const entry = { auth, api_timeout: '15', interface: ['internal', 'publicURL'], verify: false, cacert: '/ca.pem' };
    const more = { compute_endpoint_override: 'http://c', block_storage_endpoint_override: 'http://v' };

    expect(readCloud(files({ ...entry, ...more }, { top }), 'sky').settings).toMatchObject({
      ...{
        timeoutMs: 15_000,
        interfaces: ['internal', 'public'],
        verify: false,
        cacert: '/ca.pem',
        serverListMs: 5_000,
      },
      endpoints: { compute: 'http://c', volume: 'http://v' },
    });
  });

  it('needs an address, and not that of version 2', () => {
    expect(() => readCloud(files({ auth: { username: 'u' } }), 'sky')).toThrow(/no auth_url/);
    expect(() => readCloud(files({ auth: { auth_url: 'https://x/v2.0' } }), 'sky')).toThrow(/version 2/);
  });
});

describe('the request for a token', () => {
  const request = (entry: JsonObject): unknown => tokenRequest(readCloud(files(entry), 'sky').settings.auth)['auth'];

  it.each([
    [{ project_name: 'ci', project_domain_name: 'D' }, { project: { name: 'ci', domain: { name: 'D' } } }],
    [{ tenant_name: 'ci', project_domain_id: 'd' }, { project: { name: 'ci', domain: { id: 'd' } } }],
    [{ tenant_id: '7' }, { project: { id: '7' } }],
    [{ project_name: 'ci' }, { project: { name: 'ci', domain: { id: 'default' } } }],
    [{ project_name: 'ci', default_domain: 'D' }, { project: { name: 'ci', domain: { name: 'D' } } }],
    [{ domain_name: 'D' }, { domain: { name: 'D' } }],
    [{ system_scope: 'all' }, { system: { all: true } }],
    [{ trust_id: 't' }, { 'OS-TRUST:trust': { id: 't' } }],
  ])('knows the scope %o', (scope, expected) => {
    const auth = { auth_url: 'https://k', username: 'u', password: 'p', ...scope };

    expect(request({ auth })).toMatchObject({ scope: expected });
  });

  it('takes users by id or by name and domain, also beside "auth"', () => {
    const byId = request({ auth: { auth_url: 'https://k', user_id: '1', password: 'p' } });
    const byName = request({ auth: { auth_url: 'https://k' }, username: 'u', password: 'p', user_domain_name: 'D' });

    expect(byId).toMatchObject({ identity: { password: { user: { id: '1', password: 'p' } } } });
    expect(byName).toMatchObject({ identity: { password: { user: { name: 'u', domain: { name: 'D' } } } } });
  });

  it('takes tokens and application credentials, these without a scope', () => {
    const token = request({ auth_type: 'token', auth: { auth_url: 'https://k', token: 't', project_id: '7' } });
    const secret = { application_credential_id: 'a', application_credential_secret: 's', project_id: '7' };
    const credential = request({ auth_type: 'v3applicationcredential', auth: { auth_url: 'https://k', ...secret } });

    expect(token).toEqual({ identity: { methods: ['token'], token: { id: 't' } }, scope: { project: { id: '7' } } });
    expect(credential).toEqual({
      identity: { methods: ['application_credential'], application_credential: { id: 'a', secret: 's' } },
    });
  });
});
