import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import type { Login } from './credentials.js';
import { createHttp, type Http } from './http.js';

const NEVER = new AbortController().signal;
let server: Server | undefined;
let http: Http | undefined;
let credentialsFail = false;

afterEach(async () => {
  await http?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
});

async function connect(listener: RequestListener, tokens = ['only']): Promise<Http> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/k8s/`;
  const cluster = {
    ...{ context: 'x', server: url, ca: undefined, skipTls: true, tlsServerName: undefined, proxyUrl: undefined },
    user: {},
  };
  const rest = [...tokens];
  const get = (): Promise<Login> => {
    if (credentialsFail) return Promise.reject(new Error('no such file'));
    const token = rest[0] ?? '';
    const headers = { authorization: `Bearer ${token}` };
    return Promise.resolve({ cluster, token, headers, certificate: undefined, key: undefined });
  };
  const forget = () => {
    if (rest.length > 1) rest.shift();
  };
  http = createHttp({ credentials: { get, forget }, clock: systemClock });
  return http;
}

describe('a call', () => {
  it('goes below the path of the server, with its query and body', async () => {
    const seen: unknown[] = [];
    const calls = await connect((request, response) => {
      request.on('data', (data) => seen.push(String(data)));
      request.on('end', () => {
        seen.push(request.method, request.url, request.headers['content-type'], request.headers.authorization);
        response.end('{"a":1}');
      });
    });

    const body = { b: 2 };
    expect(await calls.call({ verb: 'PATCH', path: 'api/v1/x', query: { c: '3', d: undefined }, body }, NEVER)).toEqual(
      {
        a: 1,
      },
    );
    expect(seen).toEqual(['{"b":2}', 'PATCH', '/k8s/api/v1/x?c=3', 'application/merge-patch+json', 'Bearer only']);
  });

  it('is repeated once with new credentials when those at hand are refused', async () => {
    const calls = await connect(
      ({ headers }, response) => {
        response.statusCode = headers.authorization === 'Bearer new' ? 200 : 401;
        response.end('{}');
      },
      ['old', 'new'],
    );

    await calls.call({ verb: 'GET', path: 'x' }, NEVER);

    expect(calls.refusal).toBeUndefined();
  });

  // Ends: LoginRefused NoAccessToken
  it('remembers credentials that cannot be had until they can', async () => {
    const calls = await connect((_request, response) => response.end('{}'));
    credentialsFail = true;

    await expect(calls.call({ verb: 'GET', path: 'x' }, NEVER)).rejects.toThrow('no such file');
    expect(calls.refusal).toMatchObject({ reason: 'NoAccessToken', message: 'no such file' });
    credentialsFail = false;
    await calls.call({ verb: 'GET', path: 'x' }, NEVER);
    expect(calls.refusal).toBeUndefined();
  });

  it('remembers a refused login until a call succeeds', async () => {
    let isRefused = true;
    const calls = await connect((_request, response) => {
      response.statusCode = isRefused ? 401 : 200;
      response.end('{"message": "Unauthorized"}');
    });

    await expect(calls.call({ verb: 'GET', path: 'x' }, NEVER)).rejects.toMatchObject({
      code: 'NODEPOOL_PROVIDER_UNAVAILABLE',
    });
    expect(calls.refusal).toMatchObject({ reason: 'Unauthorized' });
    isRefused = false;
    await calls.call({ verb: 'GET', path: 'x' }, NEVER);
    expect(calls.refusal).toBeUndefined();
  });

  it.each([
    [200, 'OK', 'NODEPOOL_PROVIDER_UNAVAILABLE', '200 with a body that is not JSON: "OK"'],
    [429, 'too many', 'NODEPOOL_PROVIDER_UNAVAILABLE', '429 PlainText: too many'],
    [503, '<html>', 'NODEPOOL_PROVIDER_UNAVAILABLE', '503 PlainText: <html>'],
    [404, '{"reason":"NotFound","message":"gone"}', 'NODEPOOL_NOT_FOUND', 'GET x: 404 NotFound: gone'],
  ])('that is answered with %d and %s fails', async (status, text, code, message) => {
    const calls = await connect((_request, response) => {
      response.writeHead(status, { 'retry-after': '7' });
      response.end(text);
    });

    const error = await calls.call({ verb: 'GET', path: 'x' }, NEVER).catch((one: unknown) => one);

    expect(error).toMatchObject({ code, message: expect.stringContaining(message) as string });
    if (status === 429) expect(error).toMatchObject({ retryAfterMs: 7_000 });
  });

  it('without an answer ends at its deadline', async () => {
    const calls = await connect(() => undefined);

    await expect(calls.call({ verb: 'GET', path: 'x', timeoutMs: 20 }, NEVER)).rejects.toThrow(
      'no answer within 0.02 s',
    );
  });
});

describe('a watch', () => {
  it('reads event by event, in whatever pieces they arrive', async () => {
    const calls = await connect((_request, response) => {
      response.write('{"type":"ADDED","object":{"a":"ü');
      setImmediate(() => response.end('"}}\n{"type":"DELETED","object":{}}\n{"type":"HALF'));
    });
    const events: unknown[] = [];

    for await (const event of calls.watch({ verb: 'GET', path: 'x' }, NEVER)) events.push(event);

    expect(events).toEqual([
      { type: 'ADDED', object: { a: 'ü' } },
      { type: 'DELETED', object: {} },
    ]);
  });

  it('fails when nothing arrives for too long, or its connection breaks', async () => {
    const calls = await connect((request, response) => {
      response.write('{"type":"BOOKMARK","object":{}}\n');
      if (request.url?.endsWith('broken')) setImmediate(() => request.socket.destroy());
    });
    const read = async (path: string) => {
      for await (const event of calls.watch({ verb: 'GET', path, timeoutMs: 50 }, NEVER)) void event;
    };

    await expect(read('silent')).rejects.toThrow('no answer within 0.05 s');
    await expect(read('broken')).rejects.toMatchObject({ code: 'NODEPOOL_PROVIDER_UNAVAILABLE' });
  });

  it('that is refused fails with the error of the refusal', async () => {
    const calls = await connect((_request, response) => {
      response.statusCode = 410;
      response.end('{"reason":"Expired","message":"too old"}');
    });
    const read = async () => {
      for await (const event of calls.watch({ verb: 'GET', path: 'x' }, NEVER)) void event;
    };

    await expect(read()).rejects.toThrow('410 Expired: too old');
  });
});
