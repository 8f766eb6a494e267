import { readFileSync } from 'node:fs';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { EmbeddedAccess } from '../../contract/config.js';

/** Settings that determine the state directory. */
export interface StateDirOptions {
  /** Value of `--state-dir`, which overrides everything else. */
  readonly stateDir: string | undefined;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** User who determines the default directories. */
export interface StateDirUser {
  /** Numeric user id; `undefined` if the system has none. */
  readonly uid: number | undefined;
  readonly home: string;
}

const thisUser = (): StateDirUser => ({ uid: process.getuid?.(), home: homedir() });

/** State directory of services of root. */
export const SYSTEM_STATE_DIR = '/var/lib/nodepool';

/**
 * Directory for state that must survive a restart: the one given, else systemd's `STATE_DIRECTORY`, else
 * `/var/lib/nodepool` for root, else `nodepool` below `XDG_STATE_HOME` (`~/.local/state`).
 */
export function stateDirOf({ stateDir, env }: StateDirOptions, { uid, home } = thisUser()): string {
  if (stateDir !== undefined) return stateDir;
  const fromSystemd = env['STATE_DIRECTORY']?.split(':')[0];
  if (fromSystemd) return fromSystemd;
  if (uid === 0) return SYSTEM_STATE_DIR;
  return join(env['XDG_STATE_HOME'] || join(home, '.local', 'state'), 'nodepool');
}

/** Directories in which a client looks for a running embedded server, best first. */
export function stateDirCandidates(options: StateDirOptions, user = thisUser()): string[] {
  if (options.stateDir !== undefined) return [options.stateDir];
  return [...new Set([stateDirOf(options, user), SYSTEM_STATE_DIR])];
}

/** Addresses of the embedded ZooKeeper server, for other programs on this machine. */
export interface EmbeddedServerInfo {
  /** Path of its Unix socket; servers of earlier versions had none. */
  readonly socket?: string;
  /** Loopback address, if the server also listens on TCP. */
  readonly host?: string;
  readonly port?: number;
  /** Process that runs the server. */
  readonly pid: number;
}

/** Remedy for a user without access to the embedded server of this directory. */
export function accessRemedy(stateDir: string): string {
  return (
    "run this as the launcher's user; to lease machines, socket-mode of its webapp (group or anyone) is enough; only users " +
    'who may change all records need embedded-zookeeper-access there. Whatever is set, users must be able to enter ' +
    `${stateDir} and every directory above it (chmod g+x or o+x)`
  );
}

function infoFile(stateDir: string): string {
  return join(stateDir, 'embedded-zookeeper.json');
}

/** Path of the Unix socket of the embedded server, in its own directory. */
export function embeddedSocket(stateDir: string): string {
  return join(stateDir, 'zookeeper-socket', 'socket');
}

/** Path of the Unix socket on which users of this computer lease, in its own directory. */
export function localSocket(stateDir: string): string {
  return join(stateDir, 'web-socket', 'socket');
}

const MODES: Readonly<Record<EmbeddedAccess, number>> = { owner: 0o600, group: 0o640, anyone: 0o644 };

/** Publishes the running server to its permitted users. Replaces the info of an earlier one. */
export async function writeEmbeddedServerInfo(
  stateDir: string,
  info: EmbeddedServerInfo,
  access: EmbeddedAccess = 'owner',
): Promise<void> {
  const file = infoFile(stateDir);
  const temporary = `${file}.${info.pid}`;
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify(info)}\n`, { mode: MODES.owner, flag: 'wx' });
  await chmod(temporary, MODES[access]);
  await rename(temporary, file);
}

/** Removes the info of the server, if any. */
export async function removeEmbeddedServerInfo(stateDir: string): Promise<void> {
  await rm(infoFile(stateDir), { force: true });
}

function isInfo(value: unknown): value is EmbeddedServerInfo {
  if (typeof value !== 'object' || value === null) return false;
  const { socket, host, port, pid } = value as Record<string, unknown>;
  return Number.isInteger(pid) && (typeof socket === 'string' || (typeof host === 'string' && Number.isInteger(port)));
}

/**
 * Reads the last published server, running or not; `undefined` if there is none or the file is damaged.
 * @throws NODEPOOL_STATE_DIR if this user may not read it
 */
export function readEmbeddedServerInfo(stateDir: string): EmbeddedServerInfo | undefined {
  const file = infoFile(stateDir);
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isInfo(value) ? value : undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (error instanceof SyntaxError || ['ENOENT', 'ENOTDIR'].includes(code)) return undefined;
    const message =
      `cannot use ${file}, the address of the embedded ZooKeeper server: ${(error as Error).message}; ` +
      accessRemedy(stateDir);
    throw new NodepoolError('NODEPOOL_STATE_DIR', message, { cause: error });
  }
}

/** Whether a process with this id is running, as any user. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
