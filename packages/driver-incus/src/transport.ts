import { createHash, X509Certificate } from 'node:crypto';
import { accessSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { ConfigError, ProviderUnavailableError } from '@nodepool/core';
import { Agent, buildConnector, WebSocket } from 'undici';
import { readTrustToken } from './trust-token.js';

/** How a provider reaches its daemon. Paths name PEM files. */
export interface ConnectionConfig {
  /** `https://HOST:PORT` or `unix:PATH`. `undefined`: the socket of a local daemon. */
  readonly address: string | undefined;
  readonly clientCertificate: string | undefined;
  readonly clientKey: string | undefined;
  /** The only certificate that the server may have. `undefined`: that of the trust token, else one of a known authority. */
  readonly serverCertificate: string | undefined;
  readonly trustToken: string | undefined;
}

/** One call. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query: `/1.0/instances?project=ci`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Readable | undefined;
  readonly signal: AbortSignal;
}

/** An answer. */
export interface TransportAnswer {
  readonly status: number;
  readonly text: string;
}

/** Carries calls to a daemon. */
export interface Transport {
  /** Address, for messages. */
  readonly address: string;
  /** @throws {ProviderUnavailableError} no answer */
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Opens an event stream; it ends when the connection does. @throws {ProviderUnavailableError} it could not be opened */
  listen(path: string, signal: AbortSignal): Promise<ReadableStream<string>>;
  close(): Promise<void>;
}

/** Sockets of a local daemon: Incus, LXD of the snap, LXD of Debian. */
export const LOCAL_SOCKETS = [
  '/var/lib/incus/unix.socket',
  '/run/incus/unix.socket',
  '/var/snap/lxd/common/lxd/unix.socket',
  '/var/lib/lxd/unix.socket',
];
const MAX_CONNECTIONS = 64;
const MAX_ANSWER_BYTES = 256 * 2 ** 20;

/** Connects to a daemon. Reads certificates at the first call. */
export function createTransport(config: ConnectionConfig): Transport {
  return new DaemonTransport(config);
}

class DaemonTransport implements Transport {
  readonly #config: ConnectionConfig;
  #agent: Promise<Agent> | undefined;
  #address: string;

  constructor(config: ConnectionConfig) {
    this.#config = config;
    this.#address = config.address ?? 'the local daemon';
  }

  get address(): string {
    return this.#address;
  }

  async send({ method, path, headers = {}, body, signal }: TransportRequest): Promise<TransportAnswer> {
    const agent = await this.#connected();
    try {
      const answer = await agent.request({
        origin: this.#origin('http'),
        ...{ path, method, signal, body: body ?? null },
        headers: { ...(typeof body === 'string' && { 'content-type': 'application/json' }), ...headers },
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof ConfigError) throw cause;
      throw new ProviderUnavailableError(`${method} ${path}: ${this.#explain(cause)}`, { cause });
    }
  }

  async listen(path: string, signal: AbortSignal): Promise<ReadableStream<string>> {
    const dispatcher = await this.#connected();
    signal.throwIfAborted();
    const socket = new WebSocket(`${this.#origin('ws')}${path}`, { dispatcher });
    const close = () => socket.close();
    signal.addEventListener('abort', close, { once: true });
    return new Promise((resolve, reject) => {
      const stream = new ReadableStream<string>({
        start: (controller) => {
          socket.addEventListener('open', () => resolve(stream));
          socket.addEventListener('message', ({ data }) => controller.enqueue(String(data)));
          socket.addEventListener('error', ({ message, error }) => {
            reject(new ProviderUnavailableError(`events: ${this.#explain(error ?? message)}`));
          });
          socket.addEventListener('close', () => {
            signal.removeEventListener('abort', close);
            reject(new ProviderUnavailableError(`events: ${this.#address} closed the connection`));
            controller.close();
          });
        },
        cancel: close,
      });
    });
  }

  async close(): Promise<void> {
    await (await this.#agent?.catch(() => undefined))?.destroy();
  }

  #origin(scheme: 'http' | 'ws'): string {
    return this.#address.startsWith('https:') ? this.#address.replace(/^http/, scheme) : `${scheme}://incus`;
  }

  #connected(): Promise<Agent> {
    this.#agent ??= this.#connect().catch((error: unknown) => {
      this.#agent = undefined;
      throw error;
    });
    return this.#agent;
  }

  async #connect(): Promise<Agent> {
    const address = this.#config.address ?? `unix:${findLocalSocket()}`;
    this.#address = address.replace(/\/+$/, '');
    const connect = address.startsWith('https:')
      ? await pinnedConnector(this.#config)
      : { socketPath: address.replace(/^unix:(\/\/)?/, '') };
    // Timeouts run on the injected clock, so undici's are off.
    const limits = { connections: MAX_CONNECTIONS, maxResponseSize: MAX_ANSWER_BYTES };
    return new Agent({ ...limits, headersTimeout: 0, bodyTimeout: 0, connect });
  }

  #explain(cause: unknown): string {
    const { code, message = String(cause) } = (cause ?? {}) as NodeJS.ErrnoException;
    const where = this.#address;
    if (code === 'ECONNREFUSED' && isNoSocket(where))
      return `${where} is not a socket: it is called unix.socket, in the directory of the daemon`;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return `no daemon answers at ${where}: is Incus or LXD running?`;
    if (code === 'EACCES') return `no permission for ${where}: add the user to the group incus-admin or lxd`;
    if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT' || code === 'SELF_SIGNED_CERT_IN_CHAIN')
      return `the certificate of ${where} is of no known authority: set trust-token or server-certificate`;
    return `no answer from ${where}: ${message}`;
  }
}

/** Whether an address names a file or directory that is no socket. */
function isNoSocket(address: string): boolean {
  const path = /^unix:(?:\/\/)?(.*)$/.exec(address)?.[1];
  return path !== undefined && statSync(path, { throwIfNoEntry: false })?.isSocket() === false;
}

/**
 * Socket of a local daemon: that of the environment, as for `lxc` and `incus`, or a usual one.
 * @throws {ConfigError} there is none
 */
export function findLocalSocket(env: NodeJS.ProcessEnv = {}, usual: readonly string[] = LOCAL_SOCKETS): string {
  const { INCUS_SOCKET, LXD_SOCKET, INCUS_DIR, LXD_DIR } = env;
  const dirs = [INCUS_DIR, LXD_DIR].flatMap((dir) => (dir === undefined ? [] : [join(dir, 'unix.socket')]));
  const all = [...[INCUS_SOCKET, LXD_SOCKET].flatMap((file) => file ?? []), ...dirs, ...usual];
  const found = all.find((path) => {
    try {
      accessSync(path);
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EACCES';
    }
  });
  if (found !== undefined) return found;
  throw new ConfigError(`no Incus or LXD on this machine: there is no socket at ${all.join(', ')}`);
}

/** Connects with the client certificate, and only to the server with the pinned certificate. */
async function pinnedConnector(config: ConnectionConfig): Promise<buildConnector.connector> {
  const { clientCertificate, clientKey, serverCertificate, trustToken } = config;
  const [cert, key, server] = await Promise.all([clientCertificate, clientKey, serverCertificate].map(readPem));
  const token = trustToken === undefined ? undefined : readTrustToken(trustToken);
  const pinned = server === undefined ? token?.fingerprint : fingerprintOf(new X509Certificate(server).raw);
  const options = { rejectUnauthorized: pinned === undefined, maxCachedSessions: 0 };
  const connect = buildConnector({ ...options, ...(cert && { cert }), ...(key && { key }) });
  return (target, callback) =>
    connect(target, (error, socket) => {
      if (error) return callback(error, null);
      const shown = fingerprintOf((socket as TLSSocket).getPeerX509Certificate()?.raw);
      if (pinned === undefined || shown === pinned) return callback(null, socket);
      socket.destroy();
      const message = `the server at ${config.address} has certificate ${shown}, expected ${pinned}`;
      callback(new ConfigError(`${message}: correct server-certificate if the change is intended`), null);
    });
}

async function readPem(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`cannot read "${path}": ${(error as Error).message}`, [], { cause: error });
  }
}

function fingerprintOf(der: Buffer | undefined): string {
  return der === undefined ? '' : createHash('sha256').update(der).digest('hex');
}
