import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** Longest path that the address of a socket takes, in bytes. */
const MAX_SOCKET_PATH = 107;

/** What asking after a life sign says: `unknown` when there is nothing to ask. */
export type LifeSignAnswer = 'alive' | 'dead' | 'unknown';

/**
 * A socket file that answers as long as this process lives, also one that is stopped or busy, and that is dead the moment it
 * ends, however it ends: the kernel sees to both, across PID and network namespaces.
 */
export class LifeSign {
  readonly #server: Server;
  readonly #address: SocketAddress;

  private constructor(server: Server, address: SocketAddress) {
    this.#server = server;
    this.#address = address;
  }

  /** @returns `undefined` where the file system takes no sockets */
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
    // A connection that breaks while it is being refused is no matter.
    server.on('error', () => undefined);
    server.unref();
    return new LifeSign(server, address);
  }

  /** Ends it and removes the file. */
  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    this.#address.release();
  }
}

/** Asks the life sign of another process. Of a process of another boot, or machine, it says nothing. */
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

/** Only a refusal proves that no process listens; what another user protects, or is too busy to answer, lives. */
function verdictOn(code: string | undefined): LifeSignAnswer {
  if (code === 'ECONNREFUSED') return 'dead';
  return code === 'ENOENT' ? 'unknown' : 'alive';
}

/** Name of this boot of this machine's kernel; containers on one machine share it. `undefined` where there is none. */
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

/** Long paths are shortened by way of an open directory; `undefined` where that is not possible. */
function addressOf(directory: string, name: string): SocketAddress | undefined {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return { path, release: () => undefined };
  if (process.platform !== 'linux') return undefined;
  const fd = openSync(directory, 'r');
  return { path: `/proc/self/fd/${fd}/${name}`, release: () => closeSync(fd) };
}
