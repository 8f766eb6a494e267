import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Readable, type Duplex } from 'node:stream';
import { systemClock } from '@nodepool/zk-protocol';
import { isNodepoolError, RateLimitedError } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createHttp, type Credentials, type Http } from './index.js';

const NEVER = new AbortController().signal;
const open: (() => Promise<unknown>)[] = [];

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A server that answers so, call after call, and credentials that count how often they are asked for. */
async function serve(...replies: (Reply | 'silence' | 'hang up' | ((response: ServerResponse) => void))[]) {
  const seen: { url: string; authorization: string | undefined; method: string | undefined }[] = [];
  const server: Server = createServer((request, response) => {
    const { url = '', headers, method } = request;
    seen.push({ url, authorization: headers.authorization, method });
    const reply = replies.shift() ?? {};
    if (reply === 'silence') return;
    if (typeof reply === 'function') {
      reply(response);
      return;
    }
    if (reply === 'hang up') {
      response.destroy();
      return;
    }
    response.writeHead(reply.status ?? 200, reply.headers);
    response.end(reply.body ?? '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let tokens = 1;
  const credentials: Credentials = {
    headers: () => Promise.resolve({ authorization: `Bearer ${tokens}` }),
    forget: () => tokens++,
  };
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoint = `http://${address}/base/`;
  const make = (clock = systemClock): Http => {
    const http = createHttp({ endpoint, credentials, clock });
    open.push(() => http.close());
    return http;
  };
  open.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { make, seen, address };
}

function* endless(piece: Buffer): Generator<Buffer> {
  for (;;) yield piece;
}

const refusal = (code: number, reason: string, headers: Record<string, string> = {}): Reply => ({
  status: code,
  headers,
  body: JSON.stringify({ error: { code, message: 'no', errors: [{ domain: 'global', reason, message: 'no' }] } }),
});

const codeOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error: unknown) => (isNodepoolError(error) ? error.code : String(error)),
  );

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

it('asks below the endpoint, with parameters that are given', async () => {
  const { make, seen } = await serve({ body: '{"a":1}' });

  const answer = await make().call({ verb: 'GET', path: 'projects/p', query: { a: 'x y', b: undefined } }, NEVER);

  expect(answer).toEqual({ a: 1 });
  expect(seen).toEqual([{ url: '/base/projects/p?a=x+y', authorization: 'Bearer 1', method: 'GET' }]);
});

it('refuses an answer without an end', async () => {
  const piece = Buffer.alloc(1_048_576, ' ');
  const { make } = await serve((response) => Readable.from(endless(piece)).pipe(response));

  const call = make().call({ verb: 'GET', path: 'projects/p' }, NEVER);

  await expect(call).rejects.toThrow(/GET projects\/p: the answer is larger than 64 MiB: is "endpoint"/);
});

it.each([
  [refusal(403, 'quotaExceeded'), 'NODEPOOL_QUOTA'],
  [refusal(403, 'forbidden'), 'NODEPOOL_CONFIG'],
  [refusal(403, 'accessNotConfigured'), 'NODEPOOL_CONFIG'],
  [refusal(404, 'notFound'), 'NODEPOOL_NOT_FOUND'],
  [refusal(409, 'alreadyExists'), 'NODEPOOL_LAUNCH_STATUS'],
  [refusal(400, 'invalid'), 'NODEPOOL_CONFIG'],
  [refusal(400, 'resourceNotReady'), 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  [refusal(412, 'conditionNotMet'), 'NODEPOOL_CONFIG'],
  [refusal(503, 'backendError'), 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  [refusal(503, 'ZONE_RESOURCE_POOL_EXHAUSTED'), 'NODEPOOL_CAPACITY'],
  [{ status: 302, headers: { location: 'http://elsewhere/' }, body: '<html>' }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  [{ status: 200, body: '<html>Sign in</html>' }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  [{ status: 200, body: '{"items": [{"na' }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  [{ status: 500, body: '' }, 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  ['hang up', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
] as const)('sorts %j by what comes next: %s', async (reply, code) => {
  const { make } = await serve(reply);

  expect(await codeOf(make().call({ verb: 'GET', path: 'x' }, NEVER))).toBe(code);
});

it.each([
  [refusal(403, 'rateLimitExceeded', { 'retry-after': '7' }), 7_000],
  [refusal(429, 'tooMany', { 'retry-after': '2' }), 2_000],
  [refusal(403, 'userRateLimitExceeded'), undefined],
])('slows down as it is asked to: %j', async (reply, retryAfterMs) => {
  const { make } = await serve(reply);

  const error: unknown = await make()
    .call({ verb: 'GET', path: 'x' }, NEVER)
    .catch((refused: unknown) => refused);

  expect(error).toBeInstanceOf(RateLimitedError);
  expect(error).toMatchObject({ retryAfterMs });
});

it('gets other credentials when Google does not take the first, once', async () => {
  const { make, seen } = await serve(
    refusal(401, 'authError'),
    {},
    refusal(401, 'authError'),
    refusal(401, 'authError'),
  );
  const http = make();

  await http.call({ verb: 'POST', path: 'x', body: { a: 1 } }, NEVER);
  const code = await codeOf(http.call({ verb: 'POST', path: 'x', body: { a: 1 } }, NEVER));

  expect(code).toBe('NODEPOOL_PROVIDER_UNAVAILABLE');
  expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer 1', 'Bearer 2', 'Bearer 2', 'Bearer 3']);
});

it('repeats nothing that may have taken effect', async () => {
  const { make, seen } = await serve('hang up', {});

  await codeOf(make().call({ verb: 'POST', path: 'x', body: {} }, NEVER));

  expect(seen).toHaveLength(1);
});

it('gives up on a call that is not answered, and on one that is not wanted any more', async () => {
  const { make } = await serve('silence', 'silence');
  const clock = new VirtualClock();
  const http = make(clock);
  const abort = new AbortController();

  const late = codeOf(http.call({ verb: 'GET', path: 'x' }, NEVER));
  await clock.advance(60_000);
  const unwanted = http.call({ verb: 'GET', path: 'x' }, abort.signal);
  abort.abort(new Error('enough'));

  expect(await late).toBe('NODEPOOL_PROVIDER_UNAVAILABLE');
  await expect(unwanted).rejects.toThrow('enough');
  expect(clock.pendingTimers).toBe(0);
});

describe('a proxy of the environment', () => {
  /** A proxy that only tunnels to the given address. */
  async function startProxy(to?: string) {
    const asked: string[] = [];
    const server = createServer();
    const sockets = new Set<Duplex>();
    server.on('connect', ({ url = '' }, client: Duplex) => {
      asked.push(url);
      sockets.add(client);
      if (to === undefined) {
        client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        return;
      }
      const [host = '', port = ''] = to.split(':');
      const server = connect(Number(port), host, () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        server.pipe(client).pipe(server);
      });
      server.on('error', () => client.destroy());
      client.on('error', () => server.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  afterEach(() => vi.unstubAllEnvs());

  it('gets a request for a tunnel to the API', async () => {
    const { asked, url } = await startProxy();
    vi.stubEnv('HTTPS_PROXY', url);
    const credentials = { headers: () => Promise.resolve({ authorization: 'Bearer 1' }), forget: () => undefined };
    const endpoint = 'https://compute.example.invalid/compute/v1';
    const http = createHttp({ endpoint, credentials, clock: systemClock });
    open.push(() => http.close());

    const error = await http.call({ verb: 'GET', path: 'projects/p' }, NEVER).catch(String);

    expect(asked).toEqual(['compute.example.invalid:443']);
    expect(error).toMatch(/GET projects\/p: no answer: .*403/);
  });

  it.each([
    ['', 1],
    ['127.0.0.1', 0],
  ])('with NO_PROXY=%s is asked %i times', async (except, times) => {
    const { make, seen, address } = await serve({ body: '{"a":1}' });
    const { asked, url } = await startProxy(address);
    vi.stubEnv('HTTP_PROXY', url);
    vi.stubEnv('NO_PROXY', except);

    expect(await make().call({ verb: 'GET', path: 'projects/p' }, NEVER)).toEqual({ a: 1 });

    expect(seen).toHaveLength(1);
    expect(asked).toHaveLength(times);
  });
});
