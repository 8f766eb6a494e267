import { describe, expect, it } from 'vitest';
import type { OperationMetrics } from '@nodepool/core';
import { NEVER, type LogLine, addServers, failureOf, serverId, useCloud } from '../../test/support/client.js';

const { cloud, client } = useCloud();

describe('a session', () => {
  it('a silent service is left when the time is over', async () => {
    cloud().faults.push({ path: /servers\/detail/, silent: true });

    const error = await failureOf(client({ entry: { api_timeout: 0.2 } }).compute.servers(NEVER));

    expect(error.message).toContain('was not answered within 0.2 s');
  });

  it('ends a call on abort at once, with its reason', async () => {
    cloud().faults.push({ path: /servers\/detail/, silent: true });
    const api = client();
    await api.compute.flavors(NEVER);
    const abort = new AbortController();
    const call = api.compute.servers(abort.signal);
    await cloud().arrived('GET', /servers\/detail/);

    abort.abort(new Error('not wanted any more'));

    await expect(call).rejects.toThrow('not wanted any more');
  });

  it('carry the prefix of their names in statsd, when the cloud has one', async () => {
    const prefixes: unknown[] = [];
    const apiCall = (...[, , , , prefix]: Parameters<NonNullable<OperationMetrics['apiCall']>>) =>
      void prefixes.push(prefix);
    const entry = { metrics: { statsd: { prefix: 'openstack.api' } } };

    await client({ entry, metrics: { apiCall } }).compute.servers(NEVER);
    expect(new Set(prefixes)).toEqual(new Set(['openstack.api']));
    prefixes.length = 0;
    await client({ metrics: { apiCall } }).compute.servers(NEVER);

    expect(new Set(prefixes)).toEqual(new Set([undefined]));
  });

  it('leave one log line and one metric each', async () => {
    const lines: LogLine[] = [];
    const calls: string[] = [];
    const apiCall = (provider: string, call: string, _ms: number, outcome: string) =>
      void calls.push(`${provider} ${call} ${outcome}`);
    const api = client({ lines, metrics: { apiCall } });
    addServers(cloud(), 1);

    await api.compute.servers(NEVER);
    await api.compute.deleteServer(serverId(0), NEVER);
    await api.network.ports({}, NEVER);

    expect(calls.filter((call) => !call.includes('discovery'))).toEqual([
      'sky identity.POST.auth_tokens 201',
      'sky compute.GET.servers_detail 200',
      'sky compute.DELETE.server 204',
      'sky network.GET.ports 200',
    ]);
    expect(lines).toContainEqual({
      message: 'Called the cloud',
      fields: expect.objectContaining({
        method: 'DELETE',
        path: `/compute/v2.1/servers/${serverId(0)}`,
        status: 204,
        cloudRequestId: expect.stringMatching(/^req-/) as unknown,
      }) as unknown,
    });
    expect(JSON.stringify(lines)).not.toContain('secret');
  });
});
