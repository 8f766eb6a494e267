import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { WebappConfig } from '@nodepool/core/config';
import { ApiError } from './api-error.js';
import { ConnectionLimits } from './connection-limits.js';
import type { LocalSocket } from './local-socket.js';

type Settings = Pick<
  WebappConfig,
  'trustedProxies' | 'names' | 'insecureTokens' | 'listenAddress' | 'crossOriginReads'
>;

/** Who sent a request, as far as it is known before an operation has checked it. */
export interface Credentials {
  /** Header `Authorization`. */
  readonly authorization: string | undefined;
  /** IP address of the client, or of an untrusted proxy in front of it. */
  readonly address: string;
  /** A user of this computer who has logged in on its socket, as the owner of leases. */
  readonly localUser: string | undefined;
}

/** Who may call an operation, as its check found. */
export interface Caller {
  /** Shown in the audit lines of the log. */
  readonly name: string;
}

/** How a request arrived. */
interface Arrival {
  /** Of the client, as far as trusted proxies say. */
  readonly address: string;
  /** Whether the client uses HTTPS, as far as trusted proxies say. */
  readonly isHttps: boolean;
  /** Whether no other computer could read it on the way: HTTPS, or from this computer. */
  readonly isPrivate: boolean;
}

/** Headers by which proxies say for whom they ask. */
const FORWARDING = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'];

/** An IPv4 address that a socket for IPv6 shows is that IPv4 address. */
const plainAddress = (address = '') => address.replace(/^::ffff:(?=\d+\.)/i, '');

function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1';
}

/** Decides which requests with a token, or in the name of this computer's users, a web server takes at all. */
export class WebGate {
  readonly connections: ConnectionLimits;
  readonly #hostname: string;
  readonly #settings: () => Settings;
  readonly #local: Pick<LocalSocket, 'has' | 'ownerOf'> | undefined;
  readonly #proxies = new WeakMap<Settings, BlockList>();

  /**
   * @param hostname - full name of this host
   * @param settings - those in force
   * @param local - the socket for users of this computer
   */
  constructor(hostname: string, settings: () => Settings, local?: Pick<LocalSocket, 'has' | 'ownerOf'>) {
    this.#local = local;
    this.#hostname = hostname.toLowerCase();
    this.#settings = settings;
    this.connections = new ConnectionLimits((address) => this.#isTrusted(plainAddress(address)));
  }

  /**
   * Who sends a request, not yet whether the token is valid.
   * @throws ApiError 403 for a wrong `Host` or `Origin`, and for a token that others could read on the way
   */
  credentialsOf(request: IncomingMessage): Credentials {
    this.#checkNames(request);
    this.checkToken(request);
    const { authorization } = request.headers;
    return { authorization, address: this.addressOf(request), localUser: this.#local?.ownerOf(request) };
  }

  /** Whether pages of other sites may read the API. */
  get allowsOtherSites(): boolean {
    return this.#settings().crossOriginReads === true;
  }

  /** IP address of the client, as far as trusted proxies say. */
  addressOf(request: IncomingMessage): string {
    return this.#arrivalOf(request).address;
  }

  /** @throws ApiError 403 for a token that others could read on the way */
  checkToken(request: IncomingMessage): void {
    if (request.headers.authorization === undefined || this.#settings().insecureTokens === true) return;
    const { isPrivate, address } = this.#arrivalOf(request);
    if (isPrivate) return;
    const text =
      `A token over plain HTTP from another computer (${address}) is refused, as others can read it on the way: use HTTPS ` +
      '(tls of webapp, or a proxy in trusted-proxies that sends X-Forwarded-Proto), or set insecure-tokens: true. ' +
      'Replace this token if the network is not yours alone';
    throw new ApiError(403, 'insecure', text);
  }

  #arrivalOf(request: { socket: Socket; headers: IncomingHttpHeaders }): Arrival {
    const { socket, headers } = request;
    if (this.#local?.has(request) === true) {
      return { address: this.#local.ownerOf(request) ?? 'local socket', isHttps: false, isPrivate: true };
    }
    const peer = plainAddress(socket.remoteAddress);
    const isOwn = isLoopback(peer) || peer === plainAddress(socket.localAddress);
    const isTls = (socket as Partial<TLSSocket>).encrypted === true;
    const isForwarded = FORWARDING.some((name) => headers[name] !== undefined);
    if (!isForwarded || !this.#isTrusted(peer)) return { address: peer, isHttps: isTls, isPrivate: isTls || isOwn };
    const schemes = partsOf(headers['x-forwarded-proto']);
    const isHttps = schemes.length > 0 && schemes.every((scheme) => scheme.toLowerCase() === 'https');
    return { address: this.#clientOf(headers, peer), isHttps, isPrivate: isHttps };
  }

  /** The last address that no trusted proxy has: those before it may be invented by the client. */
  #clientOf(headers: IncomingHttpHeaders, peer: string): string {
    let client = peer;
    for (const part of partsOf(headers['x-forwarded-for']).reverse()) {
      const address = plainAddress(part.replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3'));
      if (isIP(address) === 0) return client;
      client = address;
      if (!this.#isTrusted(address)) return client;
    }
    return client;
  }

  #isTrusted(address: string): boolean {
    const settings = this.#settings();
    const { trustedProxies = [] } = settings;
    if (trustedProxies.length === 0 || isIP(address) === 0) return false;
    let list = this.#proxies.get(settings);
    if (!list) {
      list = new BlockList();
      for (const { network, prefix, family } of trustedProxies) list.addSubnet(network, prefix, family);
      this.#proxies.set(settings, list);
    }
    return list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }

  /**
   * Pages of other sites must not act through the browser of someone who can reach this service, even if the site's name leads
   * here (DNS rebinding).
   */
  #checkNames(request: IncomingMessage): void {
    const { host = '', origin } = request.headers;
    const called = parse(`http://${host}`);
    if (!called || !(isAddressOrLocalhost(called.hostname) || this.#isOwnName(called.hostname))) {
      const text = `This service does not know itself as "${host}" (header Host): add the name to names of webapp`;
      throw new ApiError(403, 'wrong-host', text);
    }
    if (origin === undefined) return;
    if (this.#origins(request).has(origin)) return;
    const text =
      `Pages of ${origin} (header Origin) may not act here: scheme, name and port must be those by which this service is called. ` +
      'If they are those of your proxy, add them to names of webapp, such as pool.example.org for https, or https://pool.example.org:8443';
    throw new ApiError(403, 'wrong-origin', text);
  }

  /** The origins of this service's own pages: as this request came, and as `names` says. */
  #origins(request: IncomingMessage): Set<string> {
    const { names = [], insecureTokens } = this.#settings();
    const schemes = insecureTokens === true ? ['https', 'http'] : ['https'];
    const named = names.flatMap((name) =>
      name.includes('://') ? [name] : schemes.map((scheme) => `${scheme}://${name}`),
    );
    const own = `${this.#arrivalOf(request).isHttps ? 'https' : 'http'}://${request.headers.host}`;
    return new Set([own, ...named].flatMap((each) => (URL.canParse(each) ? new URL(each).origin : [])));
  }

  #isOwnName(name: string): boolean {
    const { names = [], listenAddress } = this.#settings();
    const [short = ''] = this.#hostname.split('.', 1);
    const called = names.map((each) => each.replace(/^https?:\/\//, '').replace(/:\d+$/, ''));
    return [this.#hostname, short, listenAddress, ...called].some((own) => own !== '' && own.toLowerCase() === name);
  }
}

function partsOf(header: string | string[] | undefined): string[] {
  const parts = [header ?? []].flat().join(',').split(',');
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** An address of a service; its name is in lower case, without a dot at its end. */
function parse(url: string): Pick<URL, 'protocol' | 'host' | 'hostname'> | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, host, hostname, username, pathname } = new URL(url);
  if (username !== '' || (pathname !== '/' && pathname !== '') || hostname === '') return undefined;
  return { protocol, host, hostname: hostname.replace(/\.$/, '') };
}

function isAddressOrLocalhost(name: string): boolean {
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || name === 'localhost' || name.endsWith('.localhost');
}
