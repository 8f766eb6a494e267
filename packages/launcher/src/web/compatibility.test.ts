// The HTTP interface that clients of Nodepool know, row by row: paths, negotiation, headers and shapes.
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newBuild, newUpload, uploadPath, type ImageEntry, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { createStatusRoutes, startWebServer, type WebServer } from '@nodepool/daemon';
import { node, nodeTable, request, tableCache } from '../../test/support/world.js';
import { createListingRoutes } from './listing-routes.js';

const NOW_MS = Date.parse('2026-01-02T03:04:05.600Z');
const COMPUTED = 'Fri, 02 Jan 2026 03:04:05 GMT';

function images(): Map<string, ImageEntry> {
  const key = { image: 'debian', buildId: 'b1', provider: 'sky', id: '0000000002' };
  const build = newBuild({ image: 'debian', id: 'b1' }, { state: 'ready', formats: ['raw'] }, NOW_MS - 61_000);
  const upload = newUpload(key, { state: 'ready', externalName: 'debian-1', externalId: 'x1' }, NOW_MS - 1_000);
  const builds = new Map([['b1', build]]);
  const uploads = new Map([[uploadPath('debian', 'b1', 'sky', '0000000002'), upload]]);
  return new Map([['debian', { name: 'debian', paused: false, buildRequestedMs: NOW_MS - 2_000, builds, uploads }]]);
}

const NODES = [
  node('0000000001', { connectionPort: 22, externalId: 'i-1', publicIpv4: '192.0.2.1', userData: { zuul: [1] } }),
  node('0000000002', { connectionPort: 'secret-host', state: 'in-use' }),
];

let missing: string[] = [];
let server: WebServer;

beforeAll(async () => {
  const clock = { now: () => NOW_MS, setTimer: () => () => {} };
  const records = {
    nodes: nodeTable(NODES, ['0000000002']),
    requests: tableCache({ a: request('200-0000000001') }),
    components: [{ supportedLabels: ['small'] } as unknown as PoolComponentRecord],
    images: images(),
  };
  const status = createStatusRoutes({ notReady: () => missing, health: () => ({ status: 'ok' }) });
  const routes = new Map([...createListingRoutes(records, clock), ...status]);
  server = await startWebServer({ host: '127.0.0.1', port: 0, routes, clock, logger: silentLogger });
});
afterAll(() => server.close());

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends exactly these headers; `fetch` would add an `Accept`. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ port: server.port, host: '127.0.0.1', path, headers, method }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const JSON_TYPE = { accept: 'application/json' };

/** S string, I integer, L list, B boolean, N null; `?` anything. In order. */
const SHAPES: Record<string, Record<string, string>> = {
  '/node-list': {
    ...{ id: 'S', provider: 'SN', label: 'L', server_id: '?', public_ipv4: 'SN', ipv6: 'SN', state: 'S', age: 'S' },
    ...{ locked: 'S', pool: 'SN', hostname: 'SN', private_ipv4: 'SN', AZ: 'SN', username: 'SN', connection_port: 'IS' },
    ...{ launcher: 'SN', allocated_to: 'SN', hold_job: 'SN', comment: 'SN', user_data: '?', driver_data: '?' },
  },
  '/image-list': {
    ...{ id: 'S', upload_id: 'S', provider: 'S', image: 'S', external_name: 'SN', external_id: 'SN' },
    ...{ state: 'S', age: 'I' },
  },
  '/dib-image-list': { id: 'S', image: 'S', builder: 'SN', formats: 'L', state: 'S', age: 'I' },
  '/image-status': { image: 'S', paused: 'B', build_request: 'SN', build_request_age: 'IN' },
  '/request-list': {
    ...{ id: 'S', relative_priority: 'I', state: 'S', requestor: 'SN', node_types: 'L', nodes: 'L' },
    ...{ declined_by: 'L', event_id: 'SN' },
  },
  '/label-list': { label: 'S' },
};

const HEADERS: Record<string, string> = {
  '/node-list':
    'ID,Provider,Label,Server ID,Public IPv4,IPv6,State,Age,Locked,Pool,Hostname,Private IPv4,AZ,Username,Port,' +
    'Launcher,Allocated To,Hold Job,Comment,User Data,Driver Data',
  '/image-list': 'Build ID,Upload ID,Provider,Image,Provider Image Name,Provider Image ID,State,Age',
  '/dib-image-list': 'ID,Image,Builder,Formats,State,Age',
  '/image-status': 'Image,Paused,Build Request,Build Request Age',
  '/request-list': 'Request ID,Priority,State,Requestor,Node Types,Nodes,Declined By,Event ID',
  '/label-list': 'Label',
};

function kindOf(value: unknown): string {
  if (value === null) return 'N';
  if (Array.isArray(value)) return 'L';
  if (typeof value === 'boolean') return 'B';
  return Number.isInteger(value) ? 'I' : typeof value === 'string' ? 'S' : 'O';
}

describe.each(Object.keys(SHAPES))('%s', (path) => {
  it('has the members of JSON in their order and of their types; ours follow', async () => {
    const shape = Object.entries(SHAPES[path] ?? {});
    const objects = JSON.parse((await ask(path, JSON_TYPE)).body) as Record<string, unknown>[];
    const wrong = objects.flatMap((object) => shape.filter(([key, kinds]) => !matches(object[key], kinds)));

    expect(objects.length).toBeGreaterThan(0);
    expect(Object.keys(objects[0] ?? {}).slice(0, shape.length)).toEqual(shape.map(([key]) => key));
    expect(wrong).toEqual([]);
  });

  const matches = (value: unknown, kinds: string) => kinds === '?' || kinds.includes(kindOf(value));

  it('has the columns of the table', async () => {
    const [, header = ''] = (await ask(path)).body.split('\n');

    const names = header.split('|').slice(1, -1);
    expect(names.map((name) => name.trim()).join(',')).toBe(HEADERS[path]);
  });

  it('restricts the table to fields in the order of the table, and never JSON', async () => {
    const [first = '', second = ''] = Object.keys(SHAPES[path] ?? {});
    const wanted = [second, 'no-such-field', first].filter(Boolean).join(',');
    const table = (await ask(`${path}?fields=${wanted}`)).body;
    const json = await ask(`${path}?fields=${wanted}`, JSON_TYPE);

    const header = (table.split('\n')[1] ?? '')
      .split('|')
      .slice(1, -1)
      .map((name) => name.trim());
    expect(header).toEqual((HEADERS[path] ?? '').split(',').slice(0, second === '' ? 1 : 2));
    expect(json.body).toBe((await ask(path, JSON_TYPE)).body);
  });

  it('states its age in both formats', async () => {
    const [text, json] = await Promise.all([ask(path), ask(path, JSON_TYPE)]);

    expect(text).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; charset=UTF-8' } });
    expect(json).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    for (const { headers } of [text, json]) {
      expect(headers).toMatchObject({
        ...{ 'access-control-allow-origin': '*', 'cache-control': 'max-age=1, public' },
        ...{ 'last-modified': COMPUTED, expires: 'Fri, 02 Jan 2026 03:04:06 GMT' },
      });
      expect(headers).not.toHaveProperty('etag');
    }
  });

  it.each([
    ['Fri, 02 Jan 2026 03:04:05 GMT', 304],
    ['Fri, 02 Jan 2026 03:04:06 GMT', 304],
    ['Fri, 02 Jan 2026 03:04:04 GMT', 200],
    ['nonsense', 200],
  ])('answers If-Modified-Since %s with %i', async (since, status) => {
    const answer = await ask(path, { 'if-modified-since': since });

    expect(answer.status).toBe(status);
    expect(answer.body === '').toBe(status === 304);
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('answers %s like GET', async (method) => {
    expect((await ask(path, {}, method)).body).toBe((await ask(path)).body);
  });

  it('answers HEAD without a body', async () => {
    expect(await ask(path, {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
  });

  it('has no page with a slash at its end', async () => {
    expect((await ask(`${path}/`)).status).toBe(404);
  });
});

describe('Accept', () => {
  it.each([
    [undefined, 'text'],
    ['*/*', 'text'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text'],
    ['text/plain', 'text'],
    ['application/json', 'json'],
    ['application/*', 'json'],
    ['application/json, text/plain', 'text'],
    ['application/json;q=0.5, text/plain;q=0.4', 'json'],
    ['application/json;q=0.4, text/plain;q=0.5', 'text'],
    ['application/json, */*;q=0.1', 'json'],
    ['text/*;q=0, application/json;q=0.1', 'json'],
    ['image/png', undefined],
  ])('%j is answered with %s', async (accept, expected) => {
    const { status, headers } = await ask('/label-list', accept === undefined ? {} : { accept });

    const type = { text: 'text/plain; charset=UTF-8', json: 'application/json' };
    if (expected === undefined) expect(status).toBe(406);
    else expect([status, headers['content-type']]).toEqual([200, type[expected as 'text' | 'json']]);
  });
});

describe('/ready', () => {
  it.each([undefined, 'application/json'])('is OK as text for Accept %s once nothing is missing', async (accept) => {
    missing = [];
    const answer = await ask('/ready', accept === undefined ? {} : { accept });

    expect(answer).toMatchObject({ status: 200, body: 'OK' });
    expect(answer.headers).toMatchObject({
      ...{ 'content-type': 'text/plain; charset=UTF-8', 'access-control-allow-origin': '*' },
      ...{ 'cache-control': 'max-age=1, public', 'last-modified': COMPUTED },
    });
  });

  it('is 500 at once and names the missing part', async () => {
    missing = ['provider sky'];
    const answer = await ask('/ready');
    missing = [];

    expect([answer.status, answer.body]).toEqual([500, 'Not ready: provider sky\n']);
    expect((await ask('/ready')).status).toBe(200);
  });
});

describe('single values', () => {
  it('node_id gives one node, or none for an unknown id', async () => {
    const one = JSON.parse((await ask('/node-list?node_id=0000000002', JSON_TYPE)).body) as { id: string }[];
    const none = await ask('/node-list?node_id=0000000009');

    expect(one.map(({ id }) => id)).toEqual(['0000000002']);
    expect((await ask('/node-list?node_id=0000000009', JSON_TYPE)).body).toBe('[]');
    expect(none.body.trimEnd().split('\n')).toHaveLength(4);
  });

  it('ages are DD:HH:MM:SS of nodes and of tables, and UNIX time of images in JSON', async () => {
    const [firstNode] = JSON.parse((await ask('/node-list', JSON_TYPE)).body) as { age: string }[];
    const [build] = JSON.parse((await ask('/dib-image-list', JSON_TYPE)).body) as { age: number }[];

    expect(firstNode?.age).toMatch(/^\d{2,}:\d\d:\d\d:\d\d$/);
    expect(build?.age).toBe(Math.floor((NOW_MS - 61_000) / 1000));
    expect((await ask('/dib-image-list')).body).toContain('00:00:01:01');
  });

  it('ports that are no numbers are redacted, locks are words', async () => {
    const rows = JSON.parse((await ask('/node-list', JSON_TYPE)).body) as Record<string, unknown>[];

    expect(rows.map((row) => [row['connection_port'], row['locked']])).toEqual([
      [22, 'unlocked'],
      ['redacted', 'locked'],
    ]);
  });

  it('JSON has blanks after separators', async () => {
    expect((await ask('/image-status', JSON_TYPE)).body).toMatch(/^\[\{"image": "debian", "paused": false, /);
  });

  it.each(['/nothing', '/NODE-LIST', '/node-list%20', '/api'])('%s is not found', async (path) => {
    expect((await ask(path)).status).toBe(404);
  });
});
