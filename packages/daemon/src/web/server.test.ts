import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { readWebCertificate, type ApiToken } from '@nodepool/core/config';
import { makeSelfSigned } from '@nodepool/test-servers';
import type { FileRoute, ListingRoute, Route } from './routes.js';
import { startWebServer, type WebServer } from './server.js';

let server: WebServer;
let nowMs: number;
let rendered: number;
let tokens: ApiToken[];

const listing: ListingRoute = {
  kind: 'listing',
  normalize: (parameters) => parameters,
  isCheap: (parameters) => parameters.has('cheap'),
  render: ({ representation }) => [`${++rendered} ${representation}`],
};
const file: FileRoute = {
  kind: 'file',
  answer: () => Promise.resolve({ status: 200, contentType: 'text/plain', body: 'content' }),
};
const failing: Route = { kind: 'live', answer: () => Promise.reject(new Error('secret detail')) };
const shared: Route = {
  ...{ kind: 'shared', contentType: 'text/plain' },
  text: async () => {
    rendered++;
    await new Promise((resolve) => setImmediate(resolve));
    return `${rendered} shared`;
  },
};
const live: Route = { kind: 'live', answer: () => ({ status: 200, contentType: 'text/plain', body: 'now' }) };

beforeEach(async () => {
  [nowMs, rendered, tokens] = [1_600_000_000_000, 0, []];
  server = await startWebServer({
    ...{ host: '127.0.0.1', port: 0, logger: silentLogger, tokens: () => tokens },
    routes: new Map<string, Route>([
      ['/list', listing],
      ['/file', file],
      ['/failing', failing],
      ['/live', live],
      ['/shared', shared],
    ]),
    clock: { now: () => nowMs, setTimer: () => () => {} },
  });
});
afterEach(() => server.close());

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('a listing', () => {
  it('is rendered once a second for each representation', async () => {
    const json = { accept: 'application/json' };
    const texts = [await get('/list'), await get('/list'), await get('/list', json)].map(({ text }) => text);
    nowMs += 1_000;

    expect(texts).toEqual(['1 text', '1 text', '2 json']);
    expect((await get('/list')).text).toBe('3 text');
  });

  it('is not cached if it is cheap, so that it displaces no other', async () => {
    expect([(await get('/list?cheap=1')).text, (await get('/list?cheap=1')).text]).toEqual(['1 text', '2 text']);
  });
});

describe('an answer that callers share', () => {
  it('is computed once for many at a time, and again a second later, or when the clock was set back', async () => {
    const many = await Promise.all(Array.from({ length: 60 }, () => get('/shared')));
    expect(new Set(many.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 1 shared']));
    nowMs += 999;
    const kept = await get('/shared');
    nowMs += 1;
    const next = await get('/shared');
    nowMs -= 3_600_000;

    expect([kept.text, next.text, (await get('/shared')).text]).toEqual(['1 shared', '2 shared', '3 shared']);
    expect(kept.headers.get('last-modified')).toBe(new Date(1_600_000_000_000).toUTCString());
  });
});

describe('a protected file', () => {
  it('is not readable without configured tokens, as every local user reaches the port', async () => {
    const { status, text } = await get('/file');

    expect([status, text]).toEqual([403, expect.stringContaining('no api-tokens in its secure file')]);
  });

  it('needs a token, and is never cached', async () => {
    tokens = [{ name: 'alice', token: 'a-token-that-is-hard-to-guess' }];
    const refused = await get('/file');
    const allowed = await get('/file', { authorization: 'Bearer a-token-that-is-hard-to-guess' });

    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer, /);
    expect(allowed).toMatchObject({ status: 200, text: 'content' });
    expect([refused, allowed].map(({ headers }) => headers.get('cache-control'))).toEqual(['no-store', 'no-store']);
  });
});

it('answers 500 without details when a route fails', async () => {
  const { status, text } = await get('/failing');

  expect(status).toBe(500);
  expect(text).toBe('Internal error; see the log of the service\n');
});

it('keeps answers that are not public from pages of other origins', async () => {
  expect((await get('/live')).headers.get('access-control-allow-origin')).toBeNull();
  expect((await get('/list')).headers.get('access-control-allow-origin')).toBe('*');
});

it('cuts open connections when it closes', async () => {
  const socket = connect({ host: '127.0.0.1', port: server.port });
  await once(socket, 'connect');
  await Promise.all([server.close(), once(socket, 'close')]);

  expect(socket.destroyed).toBe(true);
});

it('says how to resolve a conflict of addresses', async () => {
  const clock = { now: () => 0, setTimer: () => () => {} };
  const second = startWebServer({
    host: '127.0.0.1',
    port: server.port,
    section: 'builder-webapp',
    routes: new Map(),
    clock,
    logger: silentLogger,
  });

  await expect(second).rejects.toMatchObject({ code: 'NODEPOOL_WEB_LISTEN' });
  await expect(second).rejects.toThrow(
    /cannot listen on 127\.0\.0\.1:\d+: the address is in use; stop .*, set builder-webapp\.port, or .* --no-webapp/,
  );
});

it('speaks HTTPS with a certificate, which can be replaced while connections are open', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-web-'));
  const pairs = await Promise.all(['old', 'new'].map((name) => makeSelfSigned(dir, name)));
  const [before, after] = pairs.map(({ cert, key }) => readWebCertificate({ certFile: cert, keyFile: key }));
  const ca = await Promise.all(pairs.map(({ cert }) => readFile(cert)));
  const clock = { now: () => nowMs, setTimer: () => () => {} };
  const routes = new Map<string, Route>([['/live', live]]);
  const secure = await startWebServer({
    ...{ host: '127.0.0.1', port: 0, routes, clock, logger: silentLogger, certificate: before },
  });
  const open = async () => {
    const socket = connectTls({ host: '127.0.0.1', port: secure.port, ca });
    await once(socket, 'secureConnect');
    return socket;
  };
  const ask = async (socket: Awaited<ReturnType<typeof open>>) => {
    socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return `${String(socket.getPeerCertificate().subject.CN)}: ${answer.toString().split('\r\n', 1)[0]}`;
  };
  const first = await open();
  if (after) secure.setCertificate(after);
  const second = await open();

  expect([await ask(first), await ask(second)]).toEqual(['old: HTTP/1.1 200 OK', 'new: HTTP/1.1 200 OK']);
  await secure.close();
  await rm(dir, { recursive: true });
});
