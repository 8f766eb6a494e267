import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

// below the range the kernel takes for outgoing connections, which would otherwise steal a port between check and use
const FIRST_PORT = 10_000;
const LAST_PORT = 31_999;

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Picks random ports on which nothing listens at the moment. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isFree(port, host)) ports.add(port);
  }
  return [...ports];
}

/** True when something accepts TCP connections there. */
export function accepts(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/**
 * Asks again and again until a server answers. The servers here are other programs without an event to wait for.
 * @throws {Error} `describe()` as its message, after `timeoutMs`
 */
export async function until(
  probe: () => Promise<boolean>,
  describe: () => string,
  timeoutMs = 30_000,
  intervalMs = 25,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await probe())) {
    if (Date.now() > deadline) throw new Error(describe());
    await delay(intervalMs);
  }
}
