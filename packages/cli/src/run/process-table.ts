import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A process at one moment. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  /** Start time, in the system's own form: it tells a reused pid. */
  readonly started: string;
  /** Whether the variable looked for was in its environment when its program started. */
  readonly isMarked: boolean;
}

/** Lists processes. */
export type ReadProcesses = (marker: string) => Promise<ProcessEntry[]>;

/** State of a process that has ended and whose parent has not asked for its status yet. */
const ZOMBIE = 'Z';
/** Field of `/proc/PID/stat` with the time of the start, counted from the state, which follows the name. */
const STARTED_FIELD = 19;

/**
 * Lists all running processes. Linux tells the environment of this user's processes; elsewhere no process is marked.
 * @param marker - a variable as `NAME=value`
 */
export function readProcesses(marker: string): Promise<ProcessEntry[]> {
  return process.platform === 'linux' ? readProc(marker) : readPs();
}

/**
 * A child in the process table, with its start time, which tells it from a later process with its pid.
 * @returns `undefined` when it has ended
 */
export async function findChild(
  pid: number,
  parentPid: number,
  read: ReadProcesses = readProcesses,
): Promise<ProcessEntry | undefined> {
  const all = await read('');
  return all.find((entry) => entry.pid === pid && entry.parentPid === parentPid);
}

async function readProc(marker: string): Promise<ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const entries = await Promise.all(pids.map((pid) => readProcess(Number(pid), marker)));
  return entries.filter((entry) => entry !== undefined);
}

/** @returns `undefined` when it has ended */
async function readProcess(pid: number, marker: string): Promise<ProcessEntry | undefined> {
  const stat = await readText(`/proc/${pid}/stat`);
  const [state, parentPid, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (parentPid === undefined || state === ZOMBIE) return undefined;
  const environment = await readText(`/proc/${pid}/environ`);
  return {
    pid,
    parentPid: Number(parentPid),
    started: fields[STARTED_FIELD - 2] ?? '',
    isMarked: environment.split('\0').includes(marker),
  };
}

/** Empty for a process that has ended, and for one of another user. */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}

/** The processes as `ps` of every POSIX system tells them, without their environments. */
export async function readPs(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,state=,lstart=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parentPid, state = '', started = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*\S)\s*$/.exec(line) ?? [];
    if (pid === undefined || state.startsWith(ZOMBIE)) return [];
    return [{ pid: Number(pid), parentPid: Number(parentPid), started, isMarked: false }];
  });
}
