import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { EmbeddedServerError } from '../errors.js';

const LOCK_NAME = 'server.lock';
const ATTEMPTS = 5;

const heldHere = new Set<string>();

/**
 * Keeps a second server off a data directory. The lock names the process that holds it; one whose process is gone is
 * taken over.
 * @returns a function that frees it
 * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOCKED`
 */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, LOCK_NAME);
  const token = randomUUID();
  const content = JSON.stringify({ pid: process.pid, startTime: startTimeOf(process.pid), token });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (tryCreate(path, content, token)) {
      heldHere.add(token);
      return () => {
        heldHere.delete(token);
        if (readIfPresent(path) === content) rmSync(path, { force: true });
      };
    }
    const found = readIfPresent(path);
    if (found !== undefined && !takeAway(path, found, token)) {
      throw new EmbeddedServerError(
        'ZK_EMBEDDED_LOCKED',
        `embedded ZooKeeper: ${directory} is in use by ${describe(found)}. Stop it, or use another data directory`,
        { path: directory },
      );
    }
  }
  throw new EmbeddedServerError(
    'ZK_EMBEDDED_LOCKED',
    `embedded ZooKeeper: ${directory} is contended by other servers that are starting. Start only one`,
    { path: directory },
  );
}

/** Creates the lock with its content in one step: no reader ever sees it half written. */
function tryCreate(path: string, content: string, token: string): boolean {
  const draft = `${path}.${token}`;
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes the lock of a process that is gone. @returns false when its holder lives */
function takeAway(path: string, content: string, token: string): boolean {
  if (isHeld(content)) return false;
  const aside = `${path}.stale.${token}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return true;
    throw error;
  }
  // Somebody else may have replaced the stale lock by a fresh one in between: then it goes back.
  if (readIfPresent(aside) !== content) linkSync(aside, path);
  rmSync(aside, { force: true });
  return true;
}

function isHeld(content: string): boolean {
  const { pid, startTime, token } = parse(content);
  if (pid === undefined) return false;
  if (pid === process.pid) return token !== undefined && heldHere.has(token);
  try {
    process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
  return startTime === undefined || startTimeOf(pid) === startTime;
}

/**
 * Start of a process in clock ticks since boot; tells a process from a later one with its number. `undefined` when it is
 * gone or only waits to be buried by its parent, and where there is no /proc.
 */
function startTimeOf(pid: number): string | undefined {
  const stat = readIfPresent(`/proc/${pid}/stat`);
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === 'Z' || state === 'X' ? undefined : fields[18];
}

function parse(content: string): { pid?: number; startTime?: string; token?: string } {
  try {
    const { pid, startTime, token } = JSON.parse(content) as Record<string, unknown>;
    return {
      ...(typeof pid === 'number' ? { pid } : {}),
      ...(typeof startTime === 'string' ? { startTime } : {}),
      ...(typeof token === 'string' ? { token } : {}),
    };
  } catch {
    // Nobody of ours wrote that, so nobody of ours holds it.
    return {};
  }
}

function describe(content: string): string {
  const { pid } = parse(content);
  return pid === undefined ? 'another server' : `the server in process ${pid}`;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ESRCH')) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
