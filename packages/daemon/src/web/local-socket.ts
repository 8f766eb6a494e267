import { chmodSync, lstatSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import {
  checkOwnDirectory,
  type Clock,
  makeDirectorySync,
  makeSocketDirectory,
  MAX_SOCKET_PATH_BYTES,
  NodepoolError,
} from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import { localSocket, type SocketAccess } from '@nodepool/core/config';
import { ApiError } from './api-error.js';
import { LocalUsers } from './local-users.js';

/** Who may use the socket. */
type Users = Exclude<SocketAccess, 'none'>;

const SOCKET_MODES: Readonly<Record<Users, number>> = { owner: 0o600, group: 0o660, anyone: 0o666 };
const DIRECTORY_MODES: Readonly<Record<Users, number>> = { owner: 0o700, group: 0o750, anyone: 0o755 };
/** Sticky, and without the right to list it: users see and remove only what they know and made. */
const LOGIN_MODES: Readonly<Record<Users, number>> = { owner: 0o700, group: 0o1730, anyone: 0o1733 };
const REMEDY = 'choose a directory that only this user may write to with --state-dir, or set socket-mode: none';
/** Where a user logs in, and the directory beside the socket for it; @nodepool/client knows both. */
const LOGIN_PATH = '/local-login';
const LOGINS = 'logins';
const MOST_CONNECTIONS = 1_000;
const ARRIVAL_MS = 10_000;

/** Options of {@link LocalSocket}. */
export interface LocalSocketOptions {
  readonly stateDir: string;
  readonly access: Users;
  readonly hostname: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The Unix socket on which users of this computer call the web API without a token. */
export class LocalSocket {
  readonly path: string;
  readonly #options: LocalSocketOptions;
  readonly #users: LocalUsers;
  readonly #connections = new WeakSet<Socket>();
  #server: Server | undefined;
  #inode: number | undefined;

  constructor(options: LocalSocketOptions) {
    const { stateDir, hostname, clock } = options;
    this.path = localSocket(stateDir);
    this.#options = options;
    this.#users = new LocalUsers({ directory: this.#logins, hostname, clock });
  }

  get #logins(): string {
    return join(dirname(this.path), LOGINS);
  }

  /** Whether a request came over the socket. */
  has({ socket }: { readonly socket: Socket }): boolean {
    return this.#connections.has(socket);
  }

  /** The user who sent a request over the socket, as the owner of leases; `undefined`: one who has not logged in, or another way. */
  ownerOf(request: Pick<IncomingMessage, 'socket' | 'headers'>): string | undefined {
    return this.has(request) ? this.#users.ownerOf(request.headers.authorization) : undefined;
  }

  /** @throws NODEPOOL_LOCAL_SOCKET */
  async listen(handler: RequestListener): Promise<void> {
    const { access, logger } = this.#options;
    try {
      await this.#listen(handler);
    } catch (error) {
      await this.close();
      throw failure(this.path, error);
    }
    logger.info('Users of this computer lease without a token on a socket', { socket: this.path, access });
  }

  /** Removes the socket, unless another process has replaced it, and closes its connections. */
  async close(): Promise<void> {
    if (this.#inode !== undefined && lstatSync(this.path, { throwIfNoEntry: false })?.ino === this.#inode) {
      rmSync(this.path, { force: true });
    }
    const server = this.#server;
    if (!server) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  /** Listens under a name of its own first, so that clients only see the socket with its final permissions. */
  async #listen(handler: RequestListener): Promise<void> {
    const { stateDir, access, logger } = this.#options;
    const temporary = `${this.path}.${process.pid}`;
    const excess = Buffer.byteLength(temporary) - MAX_SOCKET_PATH_BYTES;
    if (excess > 0) throw new Error(`the path is ${excess} bytes too long: choose a shorter --state-dir`);
    checkOwnDirectory(stateDir, REMEDY);
    makeSocketDirectory(this.path, DIRECTORY_MODES[access]);
    if (await isServed(this.path)) throw new Error('another launcher serves it: give each its own --state-dir');
    makeLogins(this.#logins, LOGIN_MODES[access]);
    rmSync(temporary, { force: true });
    const limits = { requestTimeout: ARRIVAL_MS, headersTimeout: ARRIVAL_MS };
    const server = createServer(limits, (request, response) => this.#answer(request, response, handler));
    server.maxConnections = MOST_CONNECTIONS;
    server.prependListener('connection', (socket: Socket) => void this.#connections.add(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: temporary }, resolve);
    });
    server.on('error', (error) => logger.error('Local socket failed', { error }));
    chmodSync(temporary, SOCKET_MODES[access]);
    this.#inode = lstatSync(temporary).ino;
    renameSync(temporary, this.path);
  }

  #answer(request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
    if (request.url !== LOGIN_PATH) {
      handler(request, response);
      return;
    }
    request.resume(); // discards a body
    try {
      send(response, 200, this.#logIn(request));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      send(response, error.status, { error: error.code, text: error.message });
    }
  }

  /** A challenge, or the token for the answer to one, which is in the header `Authorization`. */
  #logIn({ headers }: IncomingMessage): object {
    const [, name = '', proof = ''] = /^Local ([^ :]+):([^ :]+)$/.exec(headers.authorization ?? '') ?? [];
    return name === '' ? this.#users.challenge() : { token: this.#users.logIn({ name, proof }) };
  }
}

/** Makes the directory of logins, and removes what logins of the past have left there. */
function makeLogins(path: string, mode: number): void {
  makeDirectorySync(path, 0o700);
  chmodSync(path, mode);
  for (const name of readdirSync(path)) {
    try {
      rmdirSync(join(path, name));
    } catch {
      // a user has put something into it: it is no use for a login
    }
  }
}

/** Whether a process accepts connections there; a killed one leaves its socket. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const end = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

function failure(path: string, error: unknown): NodepoolError {
  const reason = error instanceof Error ? error.message : String(error);
  return new NodepoolError(
    'NODEPOOL_LOCAL_SOCKET',
    `no users of this computer can lease without a token, as ${path} in ${dirname(dirname(path))} cannot be used: ${reason}`,
    { cause: error },
  );
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...{ 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) },
    'Cache-Control': 'no-store',
  });
  response.end(text);
}
