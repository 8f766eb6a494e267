import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

// Above 10080, a port that fetch blocks, and below the kernel's range for outgoing connections, which could take a port
// between check and use.
const FIRST_PORT = 10_081;
const LAST_PORT = 31_999;

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Has a file for each port picked by a test process of this machine. */
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

/** Removes claims of dead processes; runs once per process. */
function dropStaleClaims(): void {
  mkdirSync(CLAIMS_DIR, { recursive: true });
  for (const port of readdirSync(CLAIMS_DIR)) {
    try {
      const owner = readFileSync(claimFile(port), 'utf8');
      if (owner !== '' && !isAlive(Number(owner))) rmSync(claimFile(port), { force: true });
    } catch {
      // Its owner has removed it.
    }
  }
}

/** Claims a port until this process ends. @returns false if another test process has it */
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
 * Picks random ports that are free and not claimed by another test process, as a server may start seconds later on a busy
 * machine.
 */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (claim(port) && (await isFree(port, host))) ports.push(port);
  }
  return ports;
}

/** Whether a server accepts TCP connections on a port. */
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
 * Polls a server until it responds, as these programs have no event to wait for.
 * @throws {Error} with `describe()` as its message, after `timeoutMs`
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
