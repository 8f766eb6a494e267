import { ConfigError } from '@nodepool/core';
import { SocksClient } from 'socks';
import { Agent, buildConnector, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { messageOf } from './errors.js';

const SCHEMES: readonly string[] = ['http:', 'https:', 'socks5:', 'socks5h:'];
const SOCKS_PORT = 1_080;

/** Limits of connections. */
export interface ConnectionOptions {
  readonly connections: number;
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
}

type Tls = NonNullable<Parameters<typeof buildConnector>[0]>;

/**
 * Checks the `proxy-url` of a kubeconfig file.
 * @throws {ConfigError} it cannot be used; its message has no login of the proxy
 */
export function checkProxyUrl(proxyUrl: string | undefined, context: string): string | undefined {
  if (proxyUrl === undefined) return undefined;
  const wanted = 'write it as socks5://HOST:PORT, http://HOST:PORT or https://HOST:PORT';
  const fail = (why: string) => new ConfigError(`context "${context}": its "proxy-url" ${why}: ${wanted}`);
  if (!URL.canParse(proxyUrl)) throw fail('is no URL');
  const { protocol, hostname, username, password } = new URL(proxyUrl);
  if (!SCHEMES.includes(protocol) || hostname === '')
    throw fail(`names no proxy of a kind that is known (${protocol})`);
  try {
    decodeURIComponent(username + password);
  } catch {
    throw fail('has a login with a "%" that begins no code ("%25" is a percent sign)');
  }
  return proxyUrl;
}

/**
 * What makes connections to a cluster: through its `proxy-url`, as kubectl does also for names in NO_PROXY, else as HTTPS_PROXY,
 * HTTP_PROXY and NO_PROXY say.
 */
export function createDispatcher(proxyUrl: string | undefined, tls: Tls, options: ConnectionOptions): Dispatcher {
  if (proxyUrl === undefined) return new EnvHttpProxyAgent({ ...options, connect: tls, requestTls: tls });
  const url = new URL(proxyUrl);
  if (url.protocol.startsWith('socks')) return new Agent({ ...options, connect: throughSocks(url, tls) });
  const proxy = { httpProxy: proxyUrl, httpsProxy: proxyUrl, noProxy: '' };
  return new EnvHttpProxyAgent({ ...options, ...proxy, connect: tls, requestTls: tls });
}

/** Names are resolved by the proxy with both schemes, as kubectl does. */
function throughSocks(proxy: URL, tls: Tls): buildConnector.connector {
  const secure = buildConnector(tls);
  return (options, callback) => {
    const isTls = options.protocol === 'https:';
    const host = withoutBrackets(options.hostname);
    const port = Number(options.port) || (isTls ? 443 : 80);
    socksSocket(proxy, { host, port }).then(
      (socket) => (isTls ? secure({ ...options, httpSocket: socket }, callback) : callback(null, socket)),
      (error: unknown) => {
        // The library's error holds the login, so it is no cause of this one.
        const why = messageOf(error);
        const what = `the SOCKS proxy ${proxy.host} of "proxy-url" gives no connection to ${host}:${port}: ${why}`;
        callback(new Error(what), null);
      },
    );
  };
}

async function socksSocket(proxy: URL, destination: { readonly host: string; readonly port: number }) {
  const { socket } = await SocksClient.createConnection({
    proxy: {
      type: 5,
      host: withoutBrackets(proxy.hostname),
      port: Number(proxy.port) || SOCKS_PORT,
      ...(proxy.username !== '' && { userId: decodeURIComponent(proxy.username) }),
      ...(proxy.password !== '' && { password: decodeURIComponent(proxy.password) }),
    },
    command: 'connect',
    destination,
  });
  return socket;
}

/** IPv6 addresses in URLs are in brackets. */
function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
