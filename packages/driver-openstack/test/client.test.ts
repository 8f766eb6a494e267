import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OperationMetrics } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { OpenStackError, type OpenStackClient } from '../src/client/index.js';
import { FakeOpenStack } from './fake/fake-openstack.js';
import { RefusedLogins } from '../src/client/refused-logins.js';
import { connect, type LogLine, type TestClientOptions } from './support/client.js';

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
let cloud: FakeOpenStack;
const clients: OpenStackClient[] = [];

beforeEach(async () => {
  cloud = await new FakeOpenStack().listen();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await cloud.close();
});

function client(options: TestClientOptions = {}): OpenStackClient {
  const made = connect(cloud, options);
  clients.push(made);
  return made;
}

async function failureOf(promise: Promise<unknown>): Promise<OpenStackError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OpenStackError)) throw new Error(`no such error: ${String(error)}`);
  return error;
}

const serverId = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

function addServers(count: number): void {
  for (let i = 0; i < count; i++) {
    const id = serverId(i);
    cloud.state.servers.set(id, {
      ...{ id, name: `np${i}`, status: 'ACTIVE', taskState: null, metadata: {}, flavorId: 'f-2', imageId: 'x' },
      ...{ zone: 'nova', keyName: null, userData: undefined, configDrive: false, securityGroups: [], hints: {} },
      ...{ microversion: undefined, devices: [], volumeIds: [], createdMs: 0, fault: undefined },
    });
  }
}

describe('tokens', () => {
  it('are fetched once, however many calls need one', async () => {
    const api = client();

    await Promise.all(Array.from({ length: 20 }, () => api.compute.flavors(NEVER)));

    expect(cloud.count('POST', /^identity/)).toBe(1);
  });

  it('are renewed once when they are refused, for all calls that were', async () => {
    const api = client();
    await api.compute.flavors(NEVER);
    cloud.state.tokens.clear();

    const answers = await Promise.all(Array.from({ length: 10 }, () => api.compute.flavors(NEVER)));

    expect(answers.every((flavors) => flavors.length === 3)).toBe(true);
    expect(cloud.count('POST', /^identity/)).toBe(2);
  });

  it('are renewed before they end', async () => {
    const clock = new VirtualClock();
    await cloud.close();
    cloud = await new FakeOpenStack(clock).listen();
    cloud.state.knobs.tokenLifeMs = 1_000;
    const api = client({ clock });
    await api.compute.flavors(NEVER);
    await clock.advance(850);

    await api.compute.flavors(NEVER);

    expect(cloud.count('POST', /^identity/)).toBe(2);
    expect(cloud.count('GET', /^compute\/flavors/)).toBe(2); // no call was refused
  });

  it('end in an error that says so when the credentials are wrong, without the password', async () => {
    const lines: LogLine[] = [];
    const api = client({
      entry: { auth: { auth_url: cloud.authUrl, username: 'x', password: 'hunter2', project_name: 'p' } },
      lines,
    });

    const error = await failureOf(api.connect(NEVER));

    expect(error.kind).toBe('unauthorized');
    expect(error.status).toBe(401);
    expect(JSON.stringify([error.message, lines])).not.toContain('hunter2');
  });

  it('are asked for again only after a pause that grows when the credentials were refused', async () => {
    const clock = new VirtualClock();
    await cloud.close();
    cloud = await new FakeOpenStack(clock).listen();
    const logins = new RefusedLogins();
    const auth = { auth_url: cloud.authUrl, username: 'x', password: 'hunter2', project_name: 'p' };
    const attempts = async () => {
      const api = client({ entry: { auth }, clock, logins });
      await failureOf(api.connect(NEVER));
      return cloud.count('POST', /^identity/);
    };

    const counts = [await attempts(), await attempts()];
    await clock.advance(60_000);
    counts.push(await attempts(), await attempts());
    await clock.advance(60_000);
    counts.push(await attempts());
    await clock.advance(60_000);
    counts.push(await attempts());

    expect(counts).toEqual([1, 1, 2, 2, 2, 3]);
    const error = await failureOf(client({ entry: { auth }, clock, logins }).connect(NEVER));
    expect(error.message).toMatch(
      /401.*no attempt for another 240 s, so that the user is not locked out: correct clouds\.yaml, which is then tried at once$/,
    );
    expect(error.kind).toBe('unauthorized');
  });

  it('are asked for at once with corrected credentials, and by other clouds', async () => {
    const logins = new RefusedLogins();
    const wrong = { auth_url: cloud.authUrl, username: 'nodepool', password: 'hunter2', project_name: 'ci' };
    await failureOf(client({ entry: { auth: wrong }, logins }).connect(NEVER));

    await client({ logins }).connect(NEVER);

    expect(cloud.count('POST', /^identity/)).toBe(2);
  });

  it('need no scope with an application credential', async () => {
    const auth = { auth_url: cloud.authUrl, application_credential_id: 'a', application_credential_secret: 'secret' };
    const api = client({ entry: { auth_type: 'v3applicationcredential', auth } });

    await expect(api.compute.flavors(NEVER)).resolves.toHaveLength(3);
  });
});

describe('lists', () => {
  it('are followed page by page', async () => {
    addServers(57);
    for (let i = 0; i < 60; i++) cloud.state.addImage(`image-${i}`);
    cloud.state.knobs.pageSize = 10;
    const api = client();

    const [servers, images] = await Promise.all([api.compute.servers(NEVER), api.image.images({}, NEVER)]);

    expect(new Set(servers.map(({ id }) => id)).size).toBe(57);
    expect(images).toHaveLength(61);
    expect(cloud.count('GET', /^compute\/servers\/detail/)).toBe(6);
  });

  it('whose markers repeat after some pages are an error', async () => {
    const pages = ['a', 'b', 'a', 'b'].map((marker) => ({
      images: [{ id: marker, name: marker }],
      next: `/v2/images?marker=${marker}`,
    }));
    for (const body of pages) {
      const headers = { 'content-type': 'application/json' };
      cloud.faults.push({ path: /v2\/images/, times: 1, status: 200, headers, body: JSON.stringify(body) });
    }

    const error = await failureOf(client().image.images({}, NEVER));

    expect(error.message).toContain('circles (marker a)');
  });

  it('that go round in circles are an error', async () => {
    const next = { servers: [{ id: 'a' }], servers_links: [{ rel: 'next', href: 'http://x/y?marker=a' }] };
    cloud.faults.push({
      path: /servers\/detail/,
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(next),
    });

    const error = await failureOf(client().compute.servers(NEVER));

    expect(error.message).toContain('circles');
  });
});

describe('what a flavor looks like', () => {
  it('is read in both shapes', async () => {
    addServers(1);
    const shown = {
      server: { id: 's', name: 'n', status: 'active', flavor: { original_name: 'm1.large', vcpus: 4, ram: 8192 } },
    };
    cloud.faults.push({
      path: /servers\/new/,
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(shown),
    });
    const api = client();

    const old = await api.compute.server(serverId(0), NEVER);
    const later = await api.compute.server('new', NEVER);

    expect(old?.flavor.id).toBe('f-2');
    expect(later?.flavor).toEqual({ id: undefined, name: 'm1.large', vcpus: 4, ramMib: 8192 });
  });
});

describe('errors', () => {
  it.each([
    [403, 'Quota exceeded for instances: Requested 1', 'quota', 'NODEPOOL_QUOTA'],
    [409, "Quota exceeded for resources: ['floatingip'].", 'quota', 'NODEPOOL_QUOTA'],
    [409, 'No more IP addresses available on network', 'capacity', 'NODEPOOL_CAPACITY'],
    [409, 'it is being deleted', 'conflict', 'NODEPOOL_CLOUD_CONFLICT'],
    [403, 'Policy does not allow this', 'forbidden', 'NODEPOOL_CLOUD_FORBIDDEN'],
    [404, 'nothing here', 'not-found', 'NODEPOOL_NOT_FOUND'],
    [400, 'wrong', 'bad-request', 'NODEPOOL_CLOUD_BAD_REQUEST'],
    [500, 'oops', 'unavailable', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    [502, '<html><body>Bad <b>gateway</b></body></html>', 'unavailable', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  ])('%i "%s" is %s', async (status, body, kind, code) => {
    cloud.faults.push({ method: 'DELETE', status, body, headers: { 'x-openstack-request-id': 'req-7' } });

    const error = await failureOf(client().compute.deleteServer('x', NEVER));

    expect(error).toMatchObject({
      kind,
      code,
      status,
      method: 'DELETE',
      requestId: 'req-7',
      path: '/compute/v2.1/servers/x',
    });
  });

  it.each([
    [
      'HTML with status 200',
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>login</html>' },
      /instead of JSON/,
    ],
    [
      'JSON that is cut off',
      { status: 200, headers: { 'content-type': 'application/json' }, body: '{"servers": [' },
      /cut off/,
    ],
    [
      'something else',
      { status: 200, headers: { 'content-type': 'application/json' }, body: '{"a": 1}' },
      /without "servers"/,
    ],
    [
      'a redirect to elsewhere',
      { status: 302, headers: { location: 'https://elsewhere.example/x' }, body: '' },
      /elsewhere\.example/,
    ],
    ['an answer without an end', { endless: true }, /the answer is larger than 64 MiB/],
    ['nothing at all', { reset: true }, /could not be made/],
  ])('%s is an error that says so', async (_what, fault, message) => {
    cloud.faults.push({ path: /servers\/detail/, ...fault });

    const error = await failureOf(client().compute.servers(NEVER));

    expect(error.message).toMatch(message);
    expect(error.kind).toBe('unavailable');
  });

  it('a silent service is left when the time is over', async () => {
    cloud.faults.push({ path: /servers\/detail/, silent: true });

    const error = await failureOf(client({ entry: { api_timeout: 0.2 } }).compute.servers(NEVER));

    expect(error.message).toContain('was not answered within 0.2 s');
  });

  it('an abort ends a call at once, with its reason', async () => {
    cloud.faults.push({ path: /servers\/detail/, silent: true });
    const api = client();
    await api.compute.flavors(NEVER);
    const abort = new AbortController();
    const call = api.compute.servers(abort.signal);
    await cloud.arrived('GET', /servers\/detail/);

    abort.abort(new Error('not wanted any more'));

    await expect(call).rejects.toThrow('not wanted any more');
  });
});

describe('calls', () => {
  it('wait as long as the service asks for, and no others wait with them', async () => {
    cloud.faults.push({ method: 'DELETE', times: 1, status: 429, headers: { 'retry-after': '4' } });
    addServers(3);
    const api = client();
    await api.compute.flavors(NEVER);
    const ended: string[] = [];
    const deletions = [serverId(0), serverId(1)].map((id) =>
      api.compute.deleteServer(id, NEVER).then(() => ended.push('deleted')),
    );
    await cloud.arrived('DELETE', /servers/);

    await api.compute.servers(NEVER);
    ended.push('listed');
    await Promise.all(deletions);

    expect(ended, 'the list is not the last').toHaveLength(3);
    expect(ended.at(-1)).toBe('deleted');
    const times = cloud.calls.filter(({ method }) => method === 'DELETE').map(({ atMs }) => atMs);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0), 'until the refused call is repeated').toBeGreaterThanOrEqual(3_990);
  });

  it('keep the rate, lists first', async () => {
    addServers(20);
    const api = client({ requestsPerSecond: 20 });
    await api.compute.flavors(NEVER);
    const begin = cloud.calls.length;
    const deletions = [0, 1, 2, 3, 4, 5].map((i) => api.compute.deleteServer(serverId(i), NEVER));
    await Promise.resolve();

    await api.compute.servers(NEVER);
    await Promise.all(deletions);

    const calls = cloud.calls.slice(begin);
    expect(calls.findIndex(({ method }) => method === 'GET')).toBeLessThanOrEqual(1);
    const tookMs = (calls.at(-1)?.atMs ?? 0) - (calls[0]?.atMs ?? 0);
    expect(tookMs).toBeGreaterThanOrEqual(6 * 50 - 20); // seven calls, twenty a second
  });

  it('that are not answered, however many, keep no list waiting, and no more run at once than their lane has', async () => {
    const order = { name: 'np1', flavorId: 'f-2', imageId: 'x', metadata: {}, networks: ['net-public'] };
    cloud.faults.push({ method: 'DELETE', silent: true }, { method: 'POST', path: /compute/, silent: true });
    const api = client();
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const hanging = Array.from({ length: 100 }, (_, i) => [
      api.compute.createServer(order, stop.signal),
      api.compute.deleteServer(serverId(i), stop.signal),
    ]);
    const ends = Promise.allSettled(hanging.flat());
    const orders = () => cloud.count('POST', /^compute/);
    await vi.waitUntil(() => orders() === 50 && cloud.count('DELETE', /^compute/) === 30, { timeout: 50_000 });

    expect(await api.compute.servers(NEVER)).toEqual([]);
    expect(orders()).toBe(50);
    stop.abort(new Error('enough'));
    expect((await ends).every(({ status }) => status === 'rejected')).toBe(true);
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
    addServers(1);

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
