import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger, type LogFields } from '@nodepool/core';
import type { ApiToken } from '@nodepool/core/config';
import { systemClock, type Json } from '@nodepool/zk-protocol';
import { ApiError } from '../api-error.js';
import { WebGate, type Credentials } from '../gate.js';
import { createApplication } from './application.js';
import { EventStreams } from './events.js';
import { TEXT, type ApiCall, type ApiOperation } from './operation.js';

const TOKEN = 'a-token-that-is-hard-to-guess';
const auth = { authorization: `Bearer ${TOKEN}` };

let server: Server;
let calls: ApiCall[];
let answer: () => Json | Iterable<Json>;
let audit: [string, LogFields | undefined][];
let tokens: ApiToken[];
let events: EventStreams;
let crossOriginReads: boolean;

/** Knows one token for leases. */
const lesseeOf = ({ authorization }: Credentials) => {
  if (authorization === 'Bearer ci.secret') return { name: 'ci' };
  if (authorization === 'Bearer fast.secret') throw new ApiError(429, 'too-fast', 'Too many calls');
  throw new ApiError(401, 'bad-token', 'The token is wrong');
};

beforeEach(async () => {
  calls = [];
  audit = [];
  crossOriginReads = false;
  tokens = [{ name: 'alice', token: TOKEN }];
  answer = () => ['item'];
  const handle = (call: ApiCall) => {
    calls.push(call);
    return answer();
  };
  const shared = { summary: 'x', answer: {}, handle };
  const id = { id: TEXT };
  const body = { type: 'object', properties: { seconds: { type: 'integer' } }, additionalProperties: false };
  const operations: ApiOperation[] = [
    { ...shared, id: 'listNodes', method: 'GET', path: '/nodes', query: { state: TEXT, limit: { type: 'integer' } } },
    { ...shared, id: 'getNode', method: 'GET', path: '/nodes/{id}', pathParameters: id },
    { ...shared, id: 'deleteNode', method: 'DELETE', path: '/nodes/{id}', pathParameters: id },
    { ...shared, id: 'createNode', method: 'POST', path: '/nodes', body: { ...body, required: ['seconds'] } },
    { ...shared, id: 'holdNode', method: 'POST', path: '/nodes/{id}/hold', pathParameters: id, body },
    { ...shared, id: 'listLeases', method: 'GET', path: '/leases', authorize: lesseeOf },
  ];
  const logger = {
    ...silentLogger,
    info: (message: string, fields?: LogFields) => void audit.push([message, fields]),
    warn: (message: string, fields?: LogFields) => void audit.push([message, fields]),
  };
  events = new EventStreams({ clock: systemClock, logger: silentLogger, overview: () => '{}' });
  const application = await createApplication({
    ...{ api: { operations, schemas: {} }, events, tokens: () => tokens, clock: systemClock, logger },
    ...{ title: 'nodepool-test', version: '1.2.3' },
    gate: new WebGate('nt01', () => ({ listenAddress: '127.0.0.1', crossOriginReads })),
  });
  server = createServer(application).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterEach(async () => {
  events.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function ask(path: string, options: RequestInit = {}) {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, options);
  return { status: response.status, headers: response.headers, body: await response.json() };
}
const hold = (body: object, headers: Record<string, string> = auth) =>
  ask('/nodes/7/hold', {
    ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) },
  });

describe('reads', () => {
  it('compute a whole list once a second, and a filtered one each time', async () => {
    for (const path of ['/nodes', '/nodes', '/nodes?state=a', '/nodes?state=a']) await ask(path);

    expect(calls.map(({ query }) => query)).toEqual([{}, { state: 'a' }, { state: 'a' }]);
  });

  it('write long lists completely', async () => {
    answer = () => Array.from({ length: 123 }, (_, i) => ({ i }));
    expect((await ask('/nodes')).body).toHaveLength(123);
    answer = () => [];
    expect((await ask('/nodes/7')).body).toEqual([]);
  });

  it('refuse unknown parameters, with a suggestion', async () => {
    expect(await ask('/nodes?stat=a')).toMatchObject({
      status: 400,
      body: { code: 'unknown-parameter', detail: expect.stringContaining('did you mean "state"?') as string },
    });
  });

  it.each(['0x10', '1e2', '', '%205', '+5'])('take the parameter limit=%s for no number', async (limit) => {
    const detail = '"limit" has the wrong type: send a whole number';

    expect(await ask(`/nodes?limit=${limit}`)).toMatchObject({ status: 400, body: { code: 'bad-request', detail } });
    expect(await ask('/nodes?limit=5')).toMatchObject({ status: 200 });
    expect(calls.map(({ query }) => query)).toEqual([{ limit: 5 }]);
  });

  it('send errors of operations as JSON that is not cached', async () => {
    answer = () => {
      throw new ApiError(404, 'unknown-node', 'There is no node "7"');
    };
    const { status, headers, body } = await ask('/nodes/7');

    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    const problem = { type: 'about:blank', title: 'Not Found', status: 404, code: 'unknown-node' };
    expect([status, body]).toEqual([404, { ...problem, detail: 'There is no node "7"' }]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it.each([false, true])(
    'are readable for pages of other sites only where the configuration says so: %s',
    async (isOn) => {
      crossOriginReads = isOn;

      for (const path of ['/nodes', '/nodes/7', '/openapi.json']) {
        const { headers } = await ask(path);
        expect(headers.get('access-control-allow-origin')).toBe(isOn ? '*' : null);
      }
    },
  );

  it('hide the details of unexpected errors', async () => {
    answer = () => {
      throw new Error('secret');
    };

    expect(await ask('/nodes/7')).toMatchObject({ status: 500, body: { code: 'internal' } });
  });
});

describe('writes', () => {
  it('call the operation in the name of the token, and log it', async () => {
    answer = () => ({ state: 'hold' });
    const held = await hold({ seconds: 5 });

    expect(held).toMatchObject({ status: 200, body: { state: 'hold' } });
    expect(calls).toMatchObject([{ path: { id: '7' }, body: { seconds: 5 }, actor: 'alice' }]);
    expect(audit).toMatchObject([['Write through the web API', { operation: 'holdNode', id: '7', actor: 'alice' }]]);
  });

  it('are logged once, however often they are repeated with one key', async () => {
    answer = () => ({ state: 'hold' });
    for (const key of ['k1', 'k1', 'k2', 'k1']) await hold({}, { ...auth, 'idempotency-key': key });

    expect(calls).toHaveLength(4);
    expect(audit).toHaveLength(2);
  });

  it.each(['', 'k'.repeat(256)])('are refused with a key that has not 1 to 255 characters', async (key) => {
    const refused = await hold({}, { ...auth, 'idempotency-key': key });

    expect(refused).toMatchObject({ status: 400, body: { code: 'bad-request' } });
    expect(calls).toEqual([]);
  });

  it('are refused and logged without a valid token, before the operation runs', async () => {
    const refused = await hold({}, { authorization: 'Bearer wrong' });
    tokens = [];
    const off = await hold({});

    expect([refused.status, refused.headers.get('www-authenticate'), off.status]).toEqual([401, 'Bearer', 403]);
    expect(audit.map(([, fields]) => fields?.['outcome'])).toEqual(['bad-token', 'writes-off']);
    expect(calls).toEqual([]);
  });

  it('are refused as forbidden for a caller who is known, but no operator', async () => {
    const refused = await hold({}, { authorization: 'Bearer ci.secret' });
    const fast = await hold({}, { authorization: 'Bearer fast.secret' });

    expect(refused).toMatchObject({ status: 403, body: { code: 'not-operator' } });
    expect(refused.body).toMatchObject({ detail: expect.stringMatching(/^"ci" may lease.* api-tokens/) as string });
    expect(refused.headers.get('www-authenticate')).toBeNull();
    expect(fast).toMatchObject({ status: 429, body: { code: 'too-fast' } });
    expect(calls).toEqual([]);
  });

  it('are refused for missing rights before their body is looked at', async () => {
    const wrong = await hold({ seconds: 'long' }, { authorization: 'Bearer wrong' });
    const known = await hold({ seconds: null }, { authorization: 'Bearer ci.secret' });
    const long = await hold({ padding: 'x'.repeat(70_000) }, { authorization: 'Bearer ci.secret' });

    expect([wrong, known, long].map(({ status }) => status)).toEqual([401, 403, 403]);
  });

  it('are refused with one line in the log for many of a client, with short parameters', async () => {
    const wrong = { authorization: 'Bearer wrong' };
    for (let i = 0; i < 20; i++) await ask(`/nodes/${'x'.repeat(200)}${i}`, { method: 'DELETE', headers: wrong });

    expect(audit).toHaveLength(1);
    expect(audit[0]?.[1]).toMatchObject({ operation: 'deleteNode', id: `${'x'.repeat(64)}...`, outcome: 'bad-token' });
  });

  it('are refused and logged when they name another host or come from a page of another site', async () => {
    const foreign = await hold({}, { ...auth, origin: 'https://evil.example.com' });

    expect(foreign).toMatchObject({ status: 403, body: { code: 'wrong-origin' } });
    expect(audit).toMatchObject([[expect.any(String), { outcome: 'wrong-origin', address: '127.0.0.1', actor: null }]]);
    expect(calls).toEqual([]);
  });

  it('need no body where the schema requires none, whatever type they announce', async () => {
    const headers = { ...auth, 'content-type': 'application/json' };

    expect(await ask('/nodes/7', { method: 'DELETE', headers })).toMatchObject({ status: 200 });
    expect(await ask('/nodes/7/hold', { method: 'POST', headers })).toMatchObject({ status: 200 });
    expect(calls).toMatchObject([{ body: {} }, { body: {} }]);
    expect(await ask('/nodes', { method: 'POST', headers })).toMatchObject({
      ...{ status: 400, body: { detail: 'The body has the wrong type: send an object' } },
    });
  });

  it('are refused for a body that does not match the schema', async () => {
    const detail = '"seconds" has the wrong type: send a whole number';
    expect(await hold({ seconds: 'long' })).toMatchObject({ status: 400, body: { code: 'bad-request', detail } });
    expect(await hold({ seconds: 5, padding: 'x'.repeat(70_000) })).toMatchObject({
      ...{ status: 413, body: { detail: 'The body has more than 65536 bytes: send a smaller one' } },
    });
    const text = await ask('/nodes', { method: 'POST', headers: auth, body: '{"seconds": 5}' });
    expect(text).toMatchObject({ status: 415, body: { code: 'bad-request' } });
    expect(await hold({ seconds: true })).toMatchObject({ status: 400, body: { detail } });
    expect(await hold({ seconds: '0x10' })).toMatchObject({ status: 400, body: { detail } });
    expect(await hold({ seconds: null })).toMatchObject({
      ...{ status: 400, body: { detail: '"seconds" is null: give it a value, or leave it out' } },
    });
    expect(calls).toEqual([]);
  });
});

it('answers unknown paths and methods with 404', async () => {
  for (const path of ['/nothing', '/NODES', '/%']) expect(await ask(path)).toMatchObject({ status: 404 });
  expect(await ask('/nodes', { method: 'PUT' })).toMatchObject({ status: 404, body: { code: 'not-found' } });
});
