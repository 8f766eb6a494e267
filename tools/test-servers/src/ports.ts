import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

// above 10080, where fetch connects to nothing, and below the range the kernel takes for outgoing connections, which would
// otherwise steal a port between check and use
const FIRST_PORT = 10_081;
const LAST_PORT = 31_999;

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** A file for each port that a test process on this machine has picked. */
const CLAIMS_DIR = join(tmpdir(), 'nodepool-test-ports');
const claims = new Set<number>();
const claimFile = (port: number | string) => join(CLAIMS_DIR, String(port));

process.on('exit', () => {
  for (const port of claims) rmSync(claimFile(port), { force: true });
});

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes what processes that were killed have left behind; once a process. */
function dropStaleClaims(): void {
  mkdirSync(CLAIMS_DIR, { recursive: true });
  for (const port of readdirSync(CLAIMS_DIR)) {
    try {
      const owner = readFileSync(claimFile(port), 'utf8');
      if (owner !== '' && !isAlive(Number(owner))) rmSync(claimFile(port), { force: true });
    } catch {
      // removed by its owner in between
    }
  }
}

/** Takes a port for this process until it ends. @returns false when another test process has it */
function claim(port: number): boolean {
  if (claims.size === 0) dropStaleClaims();
  try {
    const file = openSync(claimFile(port), 'wx');
    claims.add(port);
    writeSync(file, String(process.pid));
    closeSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Picks random ports on which nothing listens, and which no other test process has picked: between the choice and the
 * start of a server pass seconds on a busy machine.
 */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (claim(port) && (await isFree(port, host))) ports.push(port);
  }
  return ports;
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
  timeoutMs = 100_000,
  intervalMs = 25,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await probe())) {
    if (Date.now() > deadline) throw new Error(describe());
    await delay(intervalMs);
  }
}
