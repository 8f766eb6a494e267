import { chmodSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { formatServer } from '../base/server-address.js';
import { makeSocketDirectory, MAX_SOCKET_PATH_BYTES } from '../base/unix-socket.js';
import { EmbeddedServerError } from './storage/server-error.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import type { EmbeddedServerOptions } from './types.js';

/** Mode of a socket's directory: search permission for those who may write to the socket. */
const directoryMode = (mode: number): number => 0o700 | (mode & 0o060 ? 0o050 : 0) | (mode & 0o006 ? 0o005 : 0);

/** Listens on a TCP port, a Unix socket, or both. */
export class Listeners {
  readonly host: string;
  /** 0 without a TCP port. */
  port = 0;
  private readonly servers: Server[] = [];
  private ownSocket: number | undefined;

  constructor(
    private readonly options: Pick<EmbeddedServerOptions, 'dataDir' | 'host' | 'port' | 'socket'>,
    private readonly logger: ZooKeeperLogger,
    /** Receives each connection; `isLocal` for those of the Unix socket. */
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

  /** Accepts no more connections. Resolves when all accepted ones are closed. */
  async close(): Promise<void> {
    this.removeSocket();
    await Promise.all(this.servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  /** Listens under a temporary name first, so that clients only see the socket with its final permissions. */
  private async listenOnSocket({ path, mode }: { path: string; mode: number }): Promise<void> {
    const temporary = `${path}.new`;
    const name = formatServer({ host: path, port: 0 });
    const excess = Buffer.byteLength(temporary) - MAX_SOCKET_PATH_BYTES;
    if (excess > 0) throw this.failure(name, `the path is ${excess} bytes too long`, 'a shorter directory');
    makeSocketDirectory(path, directoryMode(mode));
    rmSync(temporary, { force: true });
    await this.listenOn({ path: temporary }, name, true);
    chmodSync(temporary, mode);
    // This server holds the data directory, so an existing socket is left over from a killed one.
    renameSync(temporary, path);
    this.ownSocket = lstatSync(path).ino;
  }

  /** Removes the socket, unless another server has replaced it. */
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
