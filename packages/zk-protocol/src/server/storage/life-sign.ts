import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** Longest path in a socket address, in bytes. */
const MAX_SOCKET_PATH = 107;

/** Result of {@link askLifeSign}; `unknown` if there is no socket. */
export type LifeSignAnswer = 'alive' | 'dead' | 'unknown';

/**
 * A socket file that accepts connections as long as this process is alive, even stopped or busy, and no longer once it has
 * ended in any way. The kernel guarantees both across PID and network namespaces.
 */
export class LifeSign {
  readonly #server: Server;
  readonly #address: SocketAddress;

  private constructor(server: Server, address: SocketAddress) {
    this.#server = server;
    this.#address = address;
  }

  /** @returns `undefined` if the file system does not support sockets */
  static async open(directory: string, name: string): Promise<LifeSign | undefined> {
    const address = addressOf(directory, name);
    if (address === undefined) return undefined;
    const server = createServer((socket) => socket.destroy());
    const isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(address.path, () => resolve(true));
    });
    if (!isListening) {
      address.release();
      return undefined;
    }
    // Errors of single connections do not matter.
    server.on('error', () => undefined);
    server.unref();
    return new LifeSign(server, address);
  }

  /** Closes the socket and removes its file. */
  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    this.#address.release();
  }
}

/** Checks the life sign of another process; only valid for the same boot of the same machine. */
export async function askLifeSign(directory: string, name: string): Promise<LifeSignAnswer> {
  const address = addressOf(directory, name);
  if (address === undefined) return 'unknown';
  try {
    return await new Promise((resolve) => {
      const socket = connect(address.path);
      socket.once('connect', () => {
        socket.destroy();
        resolve('alive');
      });
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(verdictOn(error.code)));
    });
  } finally {
    address.release();
  }
}

/** Only ECONNREFUSED proves that no process listens; a protected or busy socket belongs to a live one. */
function verdictOn(code: string | undefined): LifeSignAnswer {
  if (code === 'ECONNREFUSED') return 'dead';
  return code === 'ENOENT' ? 'unknown' : 'alive';
}

/** Id of this boot of the machine, shared by its containers; `undefined` if the system has none. */
export function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined; // Not Linux.
  }
}

interface SocketAddress {
  path: string;
  release(): void;
}

/** Socket address of a path; a long one goes through an open directory. `undefined` if that is impossible. */
function addressOf(directory: string, name: string): SocketAddress | undefined {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return { path, release: () => undefined };
  if (process.platform !== 'linux') return undefined;
  const fd = openSync(directory, 'r');
  return { path: `/proc/self/fd/${fd}/${name}`, release: () => closeSync(fd) };
}
