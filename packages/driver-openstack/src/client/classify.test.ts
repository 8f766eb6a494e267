import { describe, expect, it } from 'vitest';
import { NEVER, failureOf, useCloud } from '../../test/support/client.js';

const { cloud, client } = useCloud();

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
    cloud().faults.push({ method: 'DELETE', status, body, headers: { 'x-openstack-request-id': 'req-7' } });

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
    cloud().faults.push({ path: /servers\/detail/, ...fault });

    const error = await failureOf(client().compute.servers(NEVER));

    expect(error.message).toMatch(message);
    expect(error.kind).toBe('unavailable');
  });
});
