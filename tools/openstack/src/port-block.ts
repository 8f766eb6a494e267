import { createServer, type Server } from 'node:net';

/** Number of ports of a cloud, including the port that serves as lock. */
const SIZE = 11;
// below the ranges of the kernel, for outgoing connections, and of all other test servers: none takes a port while a service restarts
const FIRST = 3_000;
const BLOCKS = 600;

/**
 * Consecutive ports reserved for one cloud while it runs. The last port serves only as a lock, so that two clouds that start
 * at once get different blocks and never reach each other's services.
 */
export class PortBlock {
  readonly base: number;
  readonly #held: Server;

  private constructor(base: number, held: Server) {
    this.base = base;
    this.#held = held;
  }

  /**
   * Takes a block.
   * @param wanted - its first port. Default: any free block
   * @throws {Error} another program listens on a port of the wanted block
   */
  static async take(wanted?: number): Promise<PortBlock> {
    if (wanted !== undefined) {
      const taken = await PortBlock.#tryTake(wanted);
      if (typeof taken !== 'number') return taken;
      throw new Error(
        `port ${taken} of 127.0.0.1 is in use, and this cloud has ports ${wanted} to ${wanted + SIZE - 1}: ` +
          'end what listens there (another run in the same directory?), or take another directory',
      );
    }
    const start = Math.floor(Math.random() * BLOCKS);
    for (let i = 0; i < BLOCKS; i++) {
      const taken = await PortBlock.#tryTake(FIRST + ((start + i) % BLOCKS) * SIZE);
      if (typeof taken !== 'number') return taken;
    }
    throw new Error(`no ${SIZE} free ports next to each other from ${FIRST} on`);
  }

  /** @returns the block; if a port of it is in use, the number of that port */
  static async #tryTake(base: number): Promise<PortBlock | number> {
    const last = base + SIZE - 1;
    const held = await listen(last);
    if (!held) return last;
    for (let port = base; port < last; port++) {
      const probe = await listen(port);
      if (!probe) {
        await close(held);
        return port;
      }
      await close(probe);
    }
    held.unref();
    return new PortBlock(base, held);
  }

  /** Releases the block. Safe to repeat. */
  release(): Promise<void> {
    return close(this.#held);
  }
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
