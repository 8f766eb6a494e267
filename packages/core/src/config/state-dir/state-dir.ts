import { readFileSync } from 'node:fs';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { EmbeddedAccess } from '../../contract/config.js';

/** What a program knows about its state directory. */
export interface StateDirOptions {
  /** As given with `--state-dir`; it counts alone. */
  readonly stateDir: string | undefined;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** On whom the usual directories depend. */
export interface StateDirUser {
  /** Numeric user id; `undefined` where the system has none. */
  readonly uid: number | undefined;
  readonly home: string;
}

const thisUser = (): StateDirUser => ({ uid: process.getuid?.(), home: homedir() });

/** Where root's services keep their state. */
export const SYSTEM_STATE_DIR = '/var/lib/nodepool';

/**
 * The directory for what must survive a restart: the one given; else systemd's `STATE_DIRECTORY` when set,
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

/** How the other programs on this machine reach the embedded ZooKeeper server. */
export interface EmbeddedServerInfo {
  /** Path of its Unix socket; servers of earlier versions had none. */
  readonly socket?: string;
  /** Loopback address, if it listens on TCP as well. */
  readonly host?: string;
  readonly port?: number;
  /** Process that runs the server. */
  readonly pid: number;
}

/** What a user can do who is kept off the embedded server of this directory. */
export function accessRemedy(stateDir: string): string {
  return (
    "run this as the launcher's user, or set embedded-zookeeper-access to group or anyone there; " +
    `if it is set, let those users enter ${stateDir} and every directory above it with chmod g+x or o+x`
  );
}

function infoFile(stateDir: string): string {
  return join(stateDir, 'embedded-zookeeper.json');
}

/** The Unix socket of the embedded server, in a directory of its own. */
export function embeddedSocket(stateDir: string): string {
  return join(stateDir, 'zookeeper-socket', 'socket');
}

const MODES: Readonly<Record<EmbeddedAccess, number>> = { owner: 0o600, group: 0o640, anyone: 0o644 };

/** Makes the running server known to those who may use it. Replaces what an earlier one left. */
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

/** Forgets the server; fine when it is not known. */
export async function removeEmbeddedServerInfo(stateDir: string): Promise<void> {
  await rm(infoFile(stateDir), { force: true });
}

function isInfo(value: unknown): value is EmbeddedServerInfo {
  if (typeof value !== 'object' || value === null) return false;
  const { socket, host, port, pid } = value as Record<string, unknown>;
  return Number.isInteger(pid) && (typeof socket === 'string' || (typeof host === 'string' && Number.isInteger(port)));
}

/**
 * The server last made known in this directory, running or not; `undefined` when there is none or the file is damaged.
 * @throws NODEPOOL_STATE_DIR when this user may not read it
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

/** Whether a process of this id runs, under any user. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
