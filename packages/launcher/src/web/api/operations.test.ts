import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { silentLogger, type LogFields, type Logger } from '@nodepool/core';
import { findEmbeddedServer } from '@nodepool/core/config';
import type { DaemonService } from '@nodepool/daemon';
import {
  connect,
  encodeRequest,
  imageBuildRequestPath,
  newRequest,
  systemClock,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { World } from '../../../test/support/world.js';
import { createService } from '../../start-service.js';
import { createLauncherApi } from './operations.js';

const TOKEN = 'a-token-that-is-hard-to-guess';
const YAML = `
webapp: {port: 0, listen_address: 127.0.0.1}
labels: [{name: small}, {name: big}, {name: nowhere}]
diskimages: [{name: debian}, {name: base, abstract: true}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes: [{name: 127.0.0.1, labels: [small, big], host-key-checking: false}]
`;

interface Document {
  readonly paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
  readonly components: object;
}

interface Timeline {
  readonly state: string;
  readonly nodes: string[];
  readonly created_time: number;
  readonly ended_time: number;
  readonly intervals: { readonly begin_time: number; readonly end_time: number; readonly cause: string }[];
}

let directory: string;
let service: DaemonService;
let zk: ZooKeeper;
let audit: [message: string, fields: LogFields | undefined][] = [];

const logger: Logger = {
  ...silentLogger,
  info: (message, fields) => void audit.push([message, fields]),
  warn: (message, fields) => void audit.push([message, fields]),
  child: () => logger,
};

/** A connection that is kept may end just as it is used again. */
const ALONE = { connection: 'close' };

const address = () => `http://127.0.0.1:${service.web?.port}`;
const get = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${address()}${path}`, { headers: { ...ALONE, ...headers } });
  return { status: response.status, headers: response.headers, body: await response.json() };
};
const write = async (method: string, path: string, options: { token?: string; body?: unknown } = { token: TOKEN }) => {
  const response = await fetch(`${address()}${path}`, {
    method,
    headers: {
      ...ALONE,
      ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
      ...(options.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
};
const nodes = async () => (await get('/api/v1/nodes?state=ready')).body as { id: string }[];

async function submit(labels: string[], id: string): Promise<string> {
  const path = await zk.create(`/nodepool/requests/${id}`, encodeRequest(newRequest({ labels }, Date.now())));
  return (typeof path === 'string' ? path : id).replace('/nodepool/requests/', '');
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-api-'));
  const files = { configFile: join(directory, 'nodepool.yaml'), secureFile: join(directory, 'secure.yaml') };
  await writeFile(files.configFile, YAML);
  await writeFile(files.secureFile, `api-tokens: [{name: alice, token: ${TOKEN}}]\n`);
  const others = { logConfigFile: undefined, pidFile: join(directory, 'pid'), foreground: true, debug: false };
  const times = { webapp: true, stateDir: join(directory, 'state'), drainTimeoutMs: 1000, announceLegacy: false };
  service = await createService({
    args: { ...files, ...others, ...times },
    ...{ env: {}, clock: systemClock, logger, version: '1.2.3', hostname: 'nl01', profileDirs: [directory] },
  });
  await service.start();
  const embedded = await findEmbeddedServer([join(directory, 'state')]);
  zk = await connect({ servers: embedded?.servers ?? '' });
  await vi.waitFor(async () => expect(await nodes()).toHaveLength(1), { timeout: 50_000 });
});

afterAll(async () => {
  await zk.close();
  await service.stop(1000);
  await rm(directory, { recursive: true });
});

describe('the OpenAPI document', () => {
  it('is valid for an independent validator', async () => {
    const { body } = await get('/api/v1/openapi.json');

    expect(await new Validator().validate(body as Record<string, unknown>)).toMatchObject({ valid: true });
  });

  it('describes the answer of each reading operation', async () => {
    const document = (await get('/api/v1/openapi.json')).body as Document;
    const waiting = await submit(['no-pool-has-this'], '200-0000000050');
    // Its timeline is written down after it is listed.
    for (const path of ['', '/timeline'])
      await expect.poll(async () => (await get(`/api/v1/requests/${waiting}${path}`)).status).toBe(200);
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    ajv.addSchema({ $id: 'api', components: document.components });
    const [node] = (await get('/api/v1/nodes')).body as { id: string }[];
    const lease = await write('POST', '/api/v1/leases', { token: TOKEN, body: { labels: ['small'], wait: 10 } });
    const leases = String(lease.body['id']);
    const ids: Record<string, string> = { nodes: node?.id ?? '', requests: waiting, history: waiting, leases };

    const checked: string[] = [];
    const wrong: unknown[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
      const schema = operations['get']?.responses['200']?.content?.['application/json']?.schema;
      if (!schema) continue;
      const asked = path.replace('{id}', ids[path.split('/')[3] ?? ''] ?? '').replace('{page}', 'first');
      const { status, body } = await get(asked, { authorization: `Bearer ${TOKEN}` });
      const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
      checked.push(path.replace('/api/v1/', ''));
      if (status !== 200 || !ajv.validate(absolute, body)) wrong.push({ path, status, errors: ajv.errors });
    }
    await zk.delete(`/nodepool/requests/${waiting}`);
    await write('DELETE', `/api/v1/leases/${leases}`);
    const atRest = async () => {
      expect(await nodes()).toHaveLength(1);
      for (const path of ['hosts', 'labels'])
        expect(await (await fetch(`${address()}/api/v1/${path}`)).text()).not.toMatch(/lease|Busy/);
    };
    await vi.waitFor(atRest, { timeout: 50_000 });

    expect(wrong).toEqual([]);
    const lists = ['builds', 'components', 'controls', 'images', 'labels', 'nodes', 'overview', 'pools', 'providers'];
    const records = [
      'conditions',
      'hosts',
      'lease-rights',
      'leases',
      'leases/{id}',
      'nodes/{id}',
      'requests',
      'requests/{id}',
      'standby',
      'usage',
    ];
    const timelines = ['history/pages/{page}', 'history/{id}', 'nodes/{id}/timeline', 'requests/{id}/timeline'];
    expect(checked.sort()).toEqual([...lists, ...records, ...timelines].sort());
  });
});

it('a launcher without leases has no calls for them', () => {
  const { operations, schemas } = createLauncherApi(new World().sources);

  expect(operations.map(({ path }) => path)).toContain('/nodes');
  expect(
    [...operations.map(({ path }) => path), ...Object.keys(schemas)].filter((name) => /lease/i.test(name)),
  ).toEqual([]);
});

describe('reading', () => {
  it('shows pools with their figures, and running services', async () => {
    const pools = (await get('/api/v1/pools')).body;
    const components = (await get('/api/v1/components')).body as { kind: string }[];

    expect(pools).toMatchObject([
      { provider: 'rack', pool: 'main', own: true, used: { instances: 1 }, reservations: [] },
    ]);
    expect(components.map(({ kind }) => kind).sort()).toEqual(['launcher', 'pool']);
  });

  it('shows how a node is reached', async () => {
    const [node] = await nodes();

    expect((await get(`/api/v1/nodes/${node?.id}`)).body).toMatchObject({ connection_port: 22, host_keys: [] });
  });

  it.each([
    ['/api/v1/nodes?stat=ready', 'unknown-parameter', 'There is no parameter "stat", did you mean "state"?'],
    ['/api/v1/nodes?state=redy', 'unknown-state', 'There is no state "redy", did you mean "ready"?'],
    ['/api/v1/requests?state=bogus', 'unknown-state', 'States: requested, pending, fulfilled'],
    ['/api/v1/labels?label=small', 'unknown-parameter', 'Parameters: none'],
  ])('refuses %s', async (path, error, text) => {
    const { status, body } = await get(path);

    expect(status).toBe(400);
    expect(body).toMatchObject({ code: error, detail: expect.stringContaining(text) as string });
  });

  it('lists hosts with their health and users', async () => {
    const [node] = await nodes();

    expect((await get('/api/v1/hosts')).body).toMatchObject([
      {
        ...{ provider: 'rack', pool: 'main', host: '127.0.0.1', port: 22, username: 'zuul', slots: 1 },
        ...{ labels: ['small', 'big'], health: 'trusted', reason: null, message: null, down_since: null },
        last_check: expect.any(Number) as number,
        nodes: [{ node: node?.id, state: 'ready', user: null }],
      },
    ]);
  });

  it('shows the condition of each label', async () => {
    type Labels = { label: string; conditions: object[]; usual_wait: number | null }[];
    const read = async () => (await get('/api/v1/labels')).body as Labels;

    // the node may just be registered again after the case before
    await expect
      .poll(async () => (await read()).map(({ label, conditions }) => [label, conditions.length]))
      .toEqual([
        ['big', 0],
        ['nowhere', 1],
        ['small', 0],
      ]);
    const labels = await read();
    expect(labels[1]?.conditions).toMatchObject([
      { kind: 'label', name: 'nowhere', type: 'NotServed', reason: 'NoPool' },
    ]);
  });

  it('lets no page of another origin read unless the configuration says so', async () => {
    expect((await get('/api/v1/labels')).headers.get('access-control-allow-origin')).toBeNull();
  });

  it.each(['/api/v1/nodes/0000009999', '/api/v1/requests/none', '/api/v1/nothing', '/api/v1/', '/api/v1/%'])(
    'knows no %s',
    async (path) => {
      const { status, body } = await get(path);

      expect(status).toBe(404);
      expect(body).toMatchObject({ code: expect.any(String) as string, detail: expect.any(String) as string });
    },
  );
});

describe('the past', () => {
  it('shows the waits of a deleted request without a gap', async () => {
    const first = await submit(['small'], '200-0000000060');
    const state = async (id: string) =>
      ((await get(`/api/v1/requests/${id}`)).body as { request?: { state: string } }).request?.state;
    await expect.poll(() => state(first)).toBe('fulfilled');
    const second = await submit(['small'], '200-0000000061');
    const timeline = async (path: string) => (await get(`/api/v1/${path}/timeline`)).body as Timeline;
    await expect
      .poll(async () => (await timeline(`requests/${second}`)).intervals?.map(({ cause }) => cause), {
        timeout: 50_000,
      })
      .toContain('label-quota');
    await zk.delete(`/nodepool/requests/${second}`);
    await zk.delete(`/nodepool/requests/${first}`);
    await expect.poll(async () => (await timeline(`requests/${second}`)).state).toBe('withdrawn');

    const [past, fulfilled] = [await timeline(`requests/${second}`), await timeline(`requests/${first}`)];
    const seams = past.intervals
      .slice(1)
      .map(({ begin_time: begin }, index) => begin === past.intervals[index]?.end_time);

    expect(past.intervals.map(({ cause }) => cause)).toContain('label-quota');
    expect(past.intervals[0]?.begin_time).toBe(past.created_time);
    expect(past.intervals.at(-1)?.end_time).toBe(past.ended_time);
    expect(seams).not.toContain(false);
    expect(fulfilled).toMatchObject({ state: 'fulfilled', labels: ['small'], silent: [] });
    expect(await timeline(`nodes/${fulfilled.nodes[0]}`)).toMatchObject({ kind: 'node', request: first });
  });

  it('limits how often clients make it ask other launchers for timelines', async () => {
    let asked = 0;
    const other = createServer((_request, response) => {
      asked++;
      response.end(JSON.stringify({ launcher: 'nl02', runs: [] }));
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    const record = { hostname: 'nl02', kind: 'launcher', model_api: 1, state: 'running', version: '1', web_url: url };
    const path = await zk.create('/nodepool/components/launcher/nl02-', Buffer.from(JSON.stringify(record)), {
      ephemeral: true,
      sequential: true,
    });
    const wanted = (id: number) => get(`/api/v1/requests/300-${String(id).padStart(10, '0')}/timeline`);
    await vi.waitFor(async () => void (await wanted(0), expect(asked).toBe(1)), { timeout: 50_000, interval: 600 });
    asked = 0;

    const statuses: number[] = [];
    for (let id = 1; id <= 60; id++) statuses.push((await wanted(id)).status);
    await zk.delete(path);
    other.close();

    expect(new Set(statuses)).toEqual(new Set([404, 429]));
    expect(asked).toBe(statuses.filter((status) => status === 404).length);
    expect(asked).toBeLessThan(50);
  });
});

describe('writing', () => {
  it('is refused without the token, with one audit line for many tries', async () => {
    audit = [];
    const [node] = await nodes();
    for (const options of [{}, { token: `${TOKEN}x` }, { token: TOKEN.slice(0, -1) }]) {
      const refused = await write('DELETE', `/api/v1/nodes/${node?.id}`, options);

      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect(audit).toEqual([
      [
        'Write through the web API was refused',
        expect.objectContaining({ operation: 'deleteNode', id: node?.id, outcome: 'bad-token', actor: null }),
      ],
    ]);
    expect(await nodes()).toHaveLength(1);
  });

  it('is allowed to no page of another origin', async () => {
    const preflight = await fetch(`${address()}/api/v1/nodes/1`, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example.org', 'access-control-request-method': 'DELETE' },
    });

    expect(preflight.headers.get('access-control-allow-methods')).toBeNull();
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('cancels a request', async () => {
    const id = await submit(['no-pool-has-this'], '200-0000000051');
    await expect.poll(async () => (await get(`/api/v1/requests/${id}`)).status).toBe(200);

    const cancelled = await write('DELETE', `/api/v1/requests/${id}`);

    expect(cancelled).toMatchObject({ status: 200, body: { id } });
    expect(await zk.exists(`/nodepool/requests/${id}`)).toBeUndefined();
    expect((await write('DELETE', '/api/v1/requests/none')).status).toBe(404);
  });

  it('asks for a build of an image that is built', async () => {
    const asked = await write('POST', '/api/v1/images/debian/build');
    const again = await write('POST', '/api/v1/images/debian/build');
    const abstract = await write('POST', '/api/v1/images/base/build');

    expect([asked.status, again.status, abstract.status]).toEqual([200, 200, 404]);
    expect(await zk.exists(imageBuildRequestPath('debian'))).toBeDefined();
  });

  it('holds a node for a time with a reason and the name of the user', async () => {
    audit = [];
    const [node] = await nodes();
    const path = `/api/v1/nodes/${node?.id}`;

    const held = await write('POST', `${path}/hold`, { token: TOKEN, body: { reason: 'look at it', seconds: 600 } });
    const odd = await write('POST', `${path}/hold`, { token: TOKEN, body: { seconds: 'long' } });

    expect(held).toMatchObject({
      status: 200,
      body: { state: 'hold', comment: 'held by alice: look at it', hold_expiration: 600 },
    });
    expect(odd).toMatchObject({ status: 400, body: { code: 'bad-request' } });
    expect(audit).toContainEqual([
      'Write through the web API',
      { operation: 'holdNode', id: node?.id, address: '127.0.0.1', actor: 'alice', outcome: 'done' },
    ]);
  });

  it('deletes a node', async () => {
    const [node] = (await get('/api/v1/nodes?state=hold')).body as { id: string }[];

    const deleted = await write('DELETE', `/api/v1/nodes/${node?.id}`);

    expect(deleted).toMatchObject({ status: 200, body: { state: 'deleting' } });
    await expect.poll(async () => (await get(`/api/v1/nodes/${node?.id}`)).status).toBe(404);
  });

  it('applies an operator command in the name of the token, and removes it', async () => {
    const path = '/api/v1/controls/pool/rack%2Fmain';
    const inForce = async () => (await get('/api/v1/controls')).body as unknown[];
    const stop = new AbortController();
    const events = readEvents(await fetch(`${address()}/api/v1/events?types=control`, { signal: stop.signal }));

    const given = await write('POST', path, {
      token: TOKEN,
      body: { mode: 'limit', limit: 3, reason: 'x', seconds: 60 },
    });
    const started = await events.next(({ event }) => event === 'control');
    const order = { ...{ kind: 'pool', name: 'rack/main', mode: 'limit', limit: 3, owner: 'alice', reason: 'x' } };

    expect(given).toMatchObject({ status: 200, body: order });
    expect(given.body['end_time']).toBe(Number(given.body['created_time']) + 60);
    expect(started.data).toMatchObject({ id: 'pool/rack%2Fmain', control: order });
    await expect.poll(inForce).toEqual([given.body]);
    const shown = async () => ((await get('/api/v1/overview')).body as { controls: unknown }).controls;
    await expect.poll(shown).toEqual([given.body]);

    const taken = await write('DELETE', path);
    const ended = await events.next(({ event }) => event === 'control');
    stop.abort();

    expect(taken).toMatchObject({ status: 200, body: { kind: 'pool', name: 'rack/main' } });
    expect(ended.data['control']).toBeNull();
    expect((await write('DELETE', path)).status).toBe(404);
  });

  it.each([
    ['an unknown mode', 'provider/rack', { mode: 'halve' }, 400],
    ['no mode', 'provider/rack', {}, 400],
    ['a time that is over', 'provider/rack', { mode: 'pause', seconds: 0 }, 400],
    ['an unknown kind', 'zone/a', { mode: 'pause' }, 404],
  ])('refuses a command with %s', async (_what, subject, body, status) => {
    expect((await write('POST', `/api/v1/controls/${subject}`, { token: TOKEN, body })).status).toBe(status);
  });

  it('names the owner of a token, and refuses an unknown one', async () => {
    const right = await write('POST', '/api/v1/token');
    const wrong = await write('POST', '/api/v1/token', { token: 'wrong' });

    expect([right.status, right.body, wrong.status]).toEqual([200, { name: 'alice' }, 401]);
  });

  it('shows the state of a provider that is paused, until it is resumed', async () => {
    const state = async () => ((await get('/api/v1/providers')).body as { state: string }[])[0]?.state;
    await write('POST', '/api/v1/controls/provider/rack', { token: TOKEN, body: { mode: 'pause', reason: 'x' } });
    await expect.poll(state).toBe('paused');

    await write('DELETE', '/api/v1/controls/provider/rack');

    await expect.poll(state).toBe('running');
  });

  it('is off without a token in the secure file', async () => {
    await writeFile(join(directory, 'secure.yaml'), '{}\n');
    await service.reload();

    expect(await write('DELETE', '/api/v1/nodes/1')).toMatchObject({ status: 403, body: { code: 'writes-off' } });
    await writeFile(join(directory, 'secure.yaml'), `api-tokens: [{name: alice, token: ${TOKEN}}]\n`);
    await service.reload();
  });
});

describe('limits', () => {
  it('refuses bodies that are too long', async () => {
    const body = { reason: 'x'.repeat(70_000) };

    expect((await write('POST', '/api/v1/nodes/1/hold', { token: TOKEN, body })).status).toBe(413);
  });

  it('refuses headers that are too long', async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { 'x-long': 'x'.repeat(20_000) };
      const outgoing = httpRequest(`${address()}/api/v1/nodes`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      outgoing.on('error', reject);
      outgoing.end();
    });

    expect(status).toBe(431);
  });
});

describe('events', () => {
  it('tell of requests as they come and go, and of the overview when it changes', async () => {
    const stop = new AbortController();
    const response = await fetch(`${address()}/api/v1/events?types=request,overview`, { signal: stop.signal });
    const seen = readEvents(response);
    const first = await submit(['small'], '200-0000000052');
    await seen.next(({ data }) => data['id'] === first && stateOf(data) === 'fulfilled');
    const id = await submit(['small'], '200-0000000053');
    const arrived = await seen.next(({ event, data }) => event === 'request' && data['id'] === id);
    const overview = await seen.next(({ event, data }) => event === 'overview' && isShown(data, id));
    await zk.delete(`/nodepool/requests/${id}`);
    const gone = await seen.next(({ event, data }) => event === 'request' && data['request'] === null);
    stop.abort();
    await zk.delete(`/nodepool/requests/${first}`);

    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(arrived.data).toMatchObject({ request: { labels: ['small'] } });
    expect(overview.data).toMatchObject({ service: 'nodepool-launcher', version: '1.2.3', status: 'degraded' });
    expect(gone.data['id']).toBe(id);
  });

  const stateOf = ({ request }: Record<string, unknown>) => (request as { state?: string } | null)?.state;
  const isShown = (data: Record<string, unknown>, id: string) =>
    JSON.stringify((data['requests'] as { shown: unknown }).shown).includes(id);
});

interface SentEvent {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

function readEvents(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const parse = (block: string): SentEvent[] => {
    const event = /^event: (.*)$/m.exec(block)?.[1];
    const data = /^data: (.*)$/m.exec(block)?.[1];
    return event === undefined || data === undefined ? [] : [{ event, data: JSON.parse(data) as SentEvent['data'] }];
  };
  return {
    /** The first event from here on that is wanted; vitest's limit ends a wait for one that never comes. */
    async next(isWanted: (event: SentEvent) => boolean): Promise<SentEvent> {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end < 0) {
          const { value, done } = await reader.read();
          if (done) throw new Error('the stream has ended');
          text += decoder.decode(value, { stream: true });
          continue;
        }
        const [event] = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (event && isWanted(event)) return event;
      }
    },
  };
}
