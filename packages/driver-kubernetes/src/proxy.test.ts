import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { makeSelfSigned } from '@nodepool/test-servers';
import { systemClock } from '@nodepool/zk-protocol';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSocksServer, type SocksServerOptions } from '../test/socks-server.js';
import { createHttp, type Http } from './http.js';
import { checkProxyUrl } from './proxy.js';

const NEVER = new AbortController().signal;
let folder = '';
let ca = '';
let key = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proxy-'));
  const files = await makeSelfSigned(folder);
  [ca, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
});

afterAll(() => rm(folder, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

/** A server of TLS, or without. */
async function startServer(isTls = true): Promise<number> {
  const answer: RequestListener = ({ url }, response) => void response.end(JSON.stringify({ url }));
  const server = isTls ? createServer({ cert: ca, key }, answer) : createHttpServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function startProxy(options: SocksServerOptions) {
  const proxy = await startSocksServer(options);
  onTestFinished(() => proxy.stop());
  return proxy;
}

/** Calls to a server through a proxy. */
function through(proxyUrl: string, server: string): Http {
  const cluster = {
    ...{ context: 'x', server, ca, skipTls: false, tlsServerName: 'localhost', proxyUrl: checkProxyUrl(proxyUrl, 'x') },
    user: {},
  };
  const login = { cluster, token: undefined, headers: {}, certificate: undefined, key: undefined };
  const credentials = { get: () => Promise.resolve(login), forget: () => undefined };
  const http = createHttp({ credentials, clock: systemClock });
  onTestFinished(() => http.close());
  return http;
}

const get = (http: Http) => http.call({ verb: 'GET', path: 'version' }, NEVER);

describe('a call through a SOCKS5 proxy', () => {
  it.each([
    ['socks5', 'https://cluster.internal:6443', 'name cluster.internal 6443'],
    ['socks5h', 'https://cluster.internal', 'name cluster.internal 443'],
    ['socks5', 'https://192.0.2.7:6443', 'ipv4 c0000207 6443'],
    ['socks5', 'https://[2001:db8::7]:6443', 'ipv6 20010db8000000000000000000000007 6443'],
  ])('%s goes to %s, which the proxy resolves, with TLS of its own', async (scheme, server, asked) => {
    const proxy = await startProxy({ port: await startServer() });

    expect(await get(through(`${scheme}://127.0.0.1:${proxy.port}`, server))).toEqual({ url: '/version' });

    expect(proxy.asked).toEqual([asked]);
  });

  it('may go to a server without TLS, and one that NO_PROXY names', async () => {
    vi.stubEnv('NO_PROXY', '*');
    const proxy = await startProxy({ port: await startServer(false) });

    await get(through(`socks5://127.0.0.1:${proxy.port}`, 'http://cluster.internal'));

    expect(proxy.asked).toEqual(['name cluster.internal 80']);
  });

  it('logs in with what the URL says', async () => {
    const proxy = await startProxy({ port: await startServer(), login: 'launcher:p@ss:word' });

    const http = through(`socks5://launcher:p%40ss%3Aword@127.0.0.1:${proxy.port}`, 'https://cluster.internal');
    expect(await get(http)).toEqual({ url: '/version' });
  });

  it.each([
    ['refuses the login', { login: 'launcher:other' }, 'Authentication failed'],
    ['has no way to the server', { reply: 4 }, 'HostUnreachable'],
  ])('that %s fails with the proxy, the server and no login', async (_what, options, message) => {
    const proxy = await startProxy({ port: 1, ...options });
    const http = through(`socks5://launcher:h1dden@127.0.0.1:${proxy.port}`, 'https://cluster.internal:6443');

    const error: unknown = await get(http).catch((one: unknown) => one);

    expect(error).toMatchObject({ code: 'NODEPOOL_PROVIDER_UNAVAILABLE' });
    const shown = inspect(error, { depth: 20, showHidden: true });
    expect(shown).toContain(`the SOCKS proxy 127.0.0.1:${proxy.port} of "proxy-url"`);
    expect(shown).toContain('no connection to cluster.internal:6443');
    expect(shown).toContain(message);
    expect(shown).not.toContain('h1dden');
  });
});

describe('a proxy-url', () => {
  it.each([
    ['proxy:1080', 'names no proxy of a kind that is known (proxy:)'],
    ['ftp://u:h1dden@proxy', 'names no proxy of a kind that is known (ftp:)'],
    ['socks5://u:h1dden@pro xy', 'is no URL'],
    ['socks5://u:h1dden%@proxy', 'has a login with a "%" that begins no code'],
  ])('%s is refused without its login', (proxyUrl, message) => {
    const check = () => checkProxyUrl(proxyUrl, 'work');

    expect(check).toThrow(`context "work": its "proxy-url" ${message}`);
    expect(check).not.toThrow('h1dden');
  });
});
