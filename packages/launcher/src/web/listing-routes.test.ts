import { EventEmitter, once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newBuild, newUpload, uploadPath } from '@nodepool/zk-protocol';
import type { ImageEntry, LauncherId, PoolComponentRecord } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { node, nodeTable, request, tableCache } from '../../test/support/world.js';
import { createListingRoutes } from './listing-routes.js';
import { startWebServer } from '@nodepool/daemon';
import type { WebServer } from '@nodepool/daemon';
import { createStatusRoutes } from '@nodepool/daemon';

const START_MS = Date.parse('2026-01-02T03:04:05.600Z');

function pool(labels: string[]): PoolComponentRecord {
  return {
    id: 'pool0000000001',
    raw: {},
    stat: undefined,
    kind: 'pool',
    hostname: 'nl01',
    state: 'running',
    version: null,
    modelApi: 0,
    launcherId: 'nl01-PoolWorker.rack-main-0' as LauncherId,
    name: 'main',
    providerName: 'rack',
    supportedLabels: labels,
    priority: 100,
    paused: false,
    legacy: false,
  };
}

function image(): ImageEntry {
  const key = { image: 'debian', buildId: 'b1', provider: 'sky', id: '0000000002' };
  const build = newBuild({ image: 'debian', id: 'b1' }, { state: 'ready', formats: ['raw'] }, START_MS - 61_000);
  const upload = newUpload(key, { state: 'uploading' }, START_MS - 1_000);
  return {
    ...{ name: 'debian', paused: false, buildRequestedMs: START_MS - 2_000 },
    builds: new Map([['b1', build]]),
    uploads: new Map([[uploadPath('debian', 'b1', 'sky', '0000000002'), upload]]),
  };
}

/** Opens connections from an address of this machine; resolves with those that are still open. */
async function connectAll(port: number, localAddress: string, count: number): Promise<Socket[]> {
  const open = new Set<Socket>();
  const few = new EventEmitter();
  const connected = Array.from({ length: count }, async () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    open.add(socket);
    socket.on('error', () => {}).resume();
    socket.once('close', () => open.delete(socket) && open.size <= 500 && few.emit('left'));
    await once(socket, 'connect');
  });
  const left = open.size <= 500 ? undefined : once(few, 'left');
  await Promise.all([...connected, left]);
  return [...open];
}

describe('web server', () => {
  let server: WebServer;
  let nowMs = START_MS;
  let missing: string[] = [];
  const nodes = [node('0000000001'), node('0000000002', { state: 'in-use', comment: 'ü' })];

  beforeEach(async () => {
    nowMs = START_MS;
    missing = [];
    const clock = { now: () => nowMs, setTimer: () => () => {} };
    const records = {
      nodes: nodeTable(nodes, ['0000000002']),
      requests: tableCache({
        a: request('200-0000000001', {
          declineReasons: { worker: { rule: 'labels', text: 'no label big', timeMs: 1_000_500 } },
        }),
      }),
      components: [pool(['small', 'big']), pool(['small'])],
      images: new Map([['debian', image()]]),
    };
    server = await startWebServer({
      host: '127.0.0.1',
      port: 0,
      routes: new Map([
        ...createListingRoutes(records, clock),
        ...createStatusRoutes({ notReady: () => missing, health: () => ({ status: 'ok', error: null }) }),
      ]),
      clock,
      logger: silentLogger,
    });
  });
  afterEach(() => server.close());

  it.each([
    [
      '/dib-image-list',
      [{ id: 'debian-b1', image: 'debian', builder: null, formats: ['raw'], state: 'ready', age: 1_767_322_984 }],
      '00:00:01:01',
    ],
    [
      '/image-list',
      [
        {
          ...{ id: 'b1', upload_id: '0000000002', provider: 'sky', image: 'debian', external_name: null },
          ...{ external_id: null, state: 'uploading', age: 1_767_323_044 },
        },
      ],
      '00:00:00:01',
    ],
    [
      '/image-status',
      [{ image: 'debian', paused: false, build_request: 'pending', build_request_age: 1_767_323_043 }],
      '00:00:00:02',
    ],
  ])('lists images at %s', async (path, expected, age) => {
    const json = await (await get(path, { Accept: 'application/json' })).json();
    const text = await (await get(path)).text();
    const chosen = await (await get(`${path}?fields=image,nothing`)).text();

    expect(json).toEqual(expected);
    expect(text).toContain(age);
    expect(chosen).toBe('+--------+\n| Image  |\n+--------+\n| debian |\n+--------+\n');
  });

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers, method });
  const json = { accept: 'application/json' };

  it('reserves half of its connections when one address takes as many as it can', async () => {
    const taken = await connectAll(server.port, '127.0.0.2', 1_100);

    const { status } = await fetch(`http://127.0.0.1:${server.port}/ready`);
    for (const socket of taken) socket.destroy();

    expect([taken.length, status]).toEqual([500, 200]);
  });

  it('prints nodes with all columns as text by default', async () => {
    const response = await get('/node-list');
    const lines = (await response.text()).split('\n');

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=UTF-8');
    expect(lines[1]).toMatch(/^\| ID .*\| Driver Data \|$/);
    expect(lines).toHaveLength(7);
    expect(lines[4]).toContain('| locked   |');
  });

  it('answers JSON to clients that prefer it, in ASCII with the usual members', async () => {
    const response = await get('/node-list', json);
    const text = await response.text();

    expect(response.headers.get('content-type')).toBe('application/json');
    expect(text).toContain('{"id": "0000000001", "provider": "rack", "label": ["small"], "server_id": null, ');
    expect(text).toContain('"comment": "\\u00fc"');
    expect(Object.keys((JSON.parse(text) as object[])[0] ?? {})).toHaveLength(21);
  });

  it('states when the answer was computed and how long it may be cached', async () => {
    const response = await get('/node-list');

    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toBe('max-age=1, public');
    expect(response.headers.get('last-modified')).toBe('Fri, 02 Jan 2026 03:04:05 GMT');
    expect(response.headers.get('expires')).toBe('Fri, 02 Jan 2026 03:04:06 GMT');
    expect(response.headers.get('etag')).toBeNull();
  });

  it('repeats an answer for a second and computes it again after', async () => {
    const first = await (await get('/node-list')).text();
    nowMs += 999;
    const second = await (await get('/node-list')).text();
    nowMs += 1;
    const third = await (await get('/node-list')).text();

    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('answers 304 to a client that has this answer', async () => {
    const response = await get('/node-list', { 'if-modified-since': 'Fri, 02 Jan 2026 03:04:05 GMT' });

    expect(response.status).toBe(304);
    expect(await response.text()).toBe('');
  });

  it('answers 200 to a reader whose answer is older', async () => {
    const response = await get('/node-list', { 'if-modified-since': 'Fri, 02 Jan 2026 03:04:04 GMT' });

    expect(response.status).toBe(200);
  });

  it('shows one node by id, and nothing for an unknown one', async () => {
    const one = (await (await get('/node-list?node_id=0000000002', json)).json()) as { id: string }[];
    const none = await (await get('/node-list?node_id=0000000099', json)).text();

    expect(one.map(({ id }) => id)).toEqual(['0000000002']);
    expect(none).toBe('[]');
  });

  it('restricts the columns of text, not the members of JSON, to fields', async () => {
    const text = await (await get('/node-list?fields=state,id,nonsense')).text();
    const objects = (await (await get('/node-list?fields=id', json)).json()) as object[];

    expect(text.split('\n')[1]).toBe('| ID         | State  |');
    expect(Object.keys(objects[0] ?? {})).toHaveLength(21);
  });

  it('computes the same selection of fields once, however it is written', async () => {
    const first = await get('/node-list?fields=id,state');
    nowMs += 500;
    const again = await get('/node-list?x=1&fields=state,nonsense-4711,id,id&fields=ignored');
    const cheap = await get('/node-list?node_id=0000000001&fields=id');

    expect(await again.text()).toBe(await first.text());
    expect(again.headers.get('last-modified')).toBe(first.headers.get('last-modified'));
    expect(cheap.headers.get('last-modified')).toBe('Fri, 02 Jan 2026 03:04:06 GMT');
  });

  it('lets pages of other origins read the listings and whether it is ready, nothing else', async () => {
    const paths = ['/node-list', '/request-list', '/label-list', '/ready', '/healthz', '/nothing'];
    const allowed = await Promise.all(
      paths.map(async (path) => (await get(path)).headers.get('access-control-allow-origin')),
    );

    expect(allowed).toEqual(['*', '*', '*', '*', null, null]);
  });

  it('restricts JSON to json_fields, which may name further members', async () => {
    const text = await (await get('/node-list?json_fields=id,state_time', json)).text();

    expect(text).toBe('[{"id": "0000000001", "state_time": 0}, {"id": "0000000002", "state_time": 0}]');
  });

  it('lists requests with why they were declined at the end', async () => {
    const [object] = (await (await get('/request-list', json)).json()) as Record<string, unknown>[];
    const header = (await (await get('/request-list')).text()).split('\n')[1];

    expect(
      Object.keys(object ?? {})
        .slice(0, 9)
        .join(),
    ).toBe('id,relative_priority,state,requestor,node_types,nodes,declined_by,event_id,state_time');
    expect(object?.['decline_reasons']).toEqual({ worker: { rule: 'labels', text: 'no label big', time: 1000.5 } });
    expect(header).toMatch(/^\| Request ID .*\| Event ID \|$/);
  });

  it('lists each label of the registered pools once', async () => {
    expect(await (await get('/label-list', json)).text()).toBe('[{"label": "big"}, {"label": "small"}]');
  });

  it('is ready when nothing is missing, and names missing parts', async () => {
    const ready = await get('/ready', json);
    const body = await ready.text();
    missing = ['provider rack'];
    const notReady = await get('/ready');

    expect([ready.status, body]).toEqual([200, 'OK']);
    expect(ready.headers.get('cache-control')).toBe('max-age=1, public');
    expect([notReady.status, await notReady.text()]).toEqual([500, 'Not ready: provider rack\n']);
  });

  it('reports its health as JSON', async () => {
    const response = await get('/healthz');

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok', error: null });
  });

  it.each(['/', '/node-list/', '/Node-list', '//node-list', '/x/../node-list', '/%'])(
    'knows no path %s',
    async (path) => {
      const status = await new Promise((resolve, reject) => {
        const outgoing = httpRequest({ port: server.port, host: '127.0.0.1', path }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        outgoing.on('error', reject);
        outgoing.end();
      });

      expect(status).toBe(404);
    },
  );

  it('answers 406 when it can send nothing acceptable', async () => {
    expect((await get('/node-list', { accept: 'image/png' })).status).toBe(406);
  });

  it('answers every method like GET, HEAD without the body', async () => {
    const posted = await get('/label-list', {}, 'POST');
    const head = await get('/label-list', {}, 'HEAD');

    expect(posted.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(String((await posted.text()).length));
    expect(await head.text()).toBe('');
  });

  it('names the address in use', async () => {
    const second = startWebServer({
      host: '127.0.0.1',
      port: server.port,
      routes: new Map(),
      clock: { now: () => nowMs, setTimer: () => () => {} },
      logger: silentLogger,
    });

    await expect(second).rejects.toThrow(`cannot listen on 127.0.0.1:${server.port}: the address is in use`);
  });
});
