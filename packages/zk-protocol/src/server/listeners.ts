import { chmodSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { formatServer } from '../base/server-address.js';
import { makeSocketDirectory, MAX_SOCKET_PATH_BYTES } from '../base/unix-socket.js';
import { EmbeddedServerError } from './errors.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { EmbeddedServerOptions } from './types.js';

/** The directory of a socket has the permissions of the socket, to be searched instead of written to. */
const directoryMode = (mode: number): number => 0o700 | (mode & 0o060 ? 0o050 : 0) | (mode & 0o006 ? 0o005 : 0);

/** Where clients come in: a TCP port, a Unix socket, or both. */
export class Listeners {
  readonly host: string;
  /** 0 while there is no TCP port. */
  port = 0;
  private readonly servers: Server[] = [];
  private ownSocket: number | undefined;

  constructor(
    private readonly options: Pick<EmbeddedServerOptions, 'dataDir' | 'host' | 'port' | 'socket'>,
    private readonly logger: ZooKeeperLogger,
    /** Receives every connection; `isLocal`: it came through the Unix socket. */
    private readonly onSocket: (socket: Socket, isLocal: boolean) => void,
  ) {
    this.host = options.host ?? '127.0.0.1';
    this.port = options.port ?? 0;
  }

  get connectString(): string {
    const { socket } = this.options;
    return formatServer(socket === undefined ? this : { host: socket.path, port: 0 });
  }

  /** @throws {EmbeddedServerError} an address cannot be listened on */
  async listen(): Promise<void> {
    const { socket, port } = this.options;
    if (socket !== undefined) await this.listenOnSocket(socket);
    if (socket === undefined || port !== undefined) {
      const { host } = this;
      const server = await this.listenOn({ host, port: port ?? 0 }, formatServer({ host, port: port ?? 0 }), false);
      const address = server.address();
      if (address !== null && typeof address === 'object') this.port = address.port;
    }
  }

  /** Takes no more connections. Resolves once all that were taken are closed. */
  async close(): Promise<void> {
    this.removeSocket();
    await Promise.all(this.servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  /** Listens under another name first: closing removes that one, and clients see the socket with its permissions only. */
  private async listenOnSocket({ path, mode }: { path: string; mode: number }): Promise<void> {
    const temporary = `${path}.new`;
    const name = formatServer({ host: path, port: 0 });
    const excess = Buffer.byteLength(temporary) - MAX_SOCKET_PATH_BYTES;
    if (excess > 0) throw this.failure(name, `the path is ${excess} bytes too long`, 'a shorter directory');
    makeSocketDirectory(path, directoryMode(mode));
    rmSync(temporary, { force: true });
    await this.listenOn({ path: temporary }, name, true);
    chmodSync(temporary, mode);
    // Only the server that has the data directory comes here: what is there was left by one that was killed.
    renameSync(temporary, path);
    this.ownSocket = lstatSync(path).ino;
  }

  /** Not the socket of a server that has taken the directory over. */
  private removeSocket(): void {
    const { socket } = this.options;
    if (socket === undefined || this.ownSocket === undefined) return;
    const found = lstatSync(socket.path, { throwIfNoEntry: false });
    if (found?.ino === this.ownSocket) rmSync(socket.path, { force: true });
  }

  private failure(name: string, reason: string, alternative: string, cause?: unknown): EmbeddedServerError {
    const message = `embedded ZooKeeper: cannot listen on ${name}: ${reason}. Choose ${alternative}`;
    return new EmbeddedServerError('ZK_EMBEDDED_LISTEN', message, { path: this.options.dataDir, cause });
  }

  private listenOn(where: ListenOptions, name: string, isLocal: boolean): Promise<Server> {
    const server = createServer({ noDelay: true }, (socket) => this.onSocket(socket, isLocal));
    this.servers.push(server);
    return new Promise((resolve, reject) => {
      const onError = (error: Error) => {
        reject(this.failure(name, error.message, isLocal ? 'another directory' : 'another port', error));
      };
      server.once('error', onError);
      server.listen(where, () => {
        server.off('error', onError);
        server.on('error', (error) => this.logger.warn('Listening socket failed', { address: name, error }));
        resolve(server);
      });
    });
  }
}
