import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readCloud } from './read-cloud.js';
import type { CloudFiles } from './types.js';

function files(entry: JsonObject, more: Partial<CloudFiles> = {}): CloudFiles {
  return { clouds: { sky: entry }, publicClouds: {}, top: {}, files: ['clouds.yaml'], ...more };
}

const auth = { auth_url: 'https://keystone.example/v3', username: 'u', password: 'p', project_name: 'ci' };

describe('regions', () => {
  const regions = [
    'north',
    {
      name: 'south',
      values: { image_format: 'raw', networks: [{ name: 'wan', routes_externally: true, default_interface: true }] },
    },
  ];

  it('have their own values', () => {
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
